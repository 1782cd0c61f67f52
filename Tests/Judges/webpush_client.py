"""pywebpush as a client of a server that stands in for push services: what it sends rightly is
taken, and what is wrong is refused.

pywebpush connects to the endpoint's host and speaks HTTP/1.1. Here the connection goes to the
server instead, under the same name, in HTTP/2 where the server has it; what is sent stays
pywebpush's.
"""

import os
import ssl
import time
import urllib.parse

import httpx
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from py_vapid import Vapid02
from pywebpush import WebPushException, webpush

import webpush_samples
from webpush import origin

SECONDS = 20
TTL = 60
MESSAGE = b'{"notification":{"title":"Aiko is live"}}'
# What services refuse with: of credentials, of the request, of its size, of an endpoint.
CREDENTIALS = (400, 401, 403)
REQUEST = (400, 415)
SIZE = (400, 413)
ENDPOINT = (400, 404, 410)


class Elsewhere(httpx.BaseTransport):
    """Connects to one server, whatever host is asked for."""

    def __init__(self, host, port, authority, tls_name):
        context = ssl.create_default_context(cafile=authority)
        self._inner = httpx.HTTPTransport(verify=context, http2=True, trust_env=False)
        self._address = (host, port)
        self._tls_name = tls_name

    def handle_request(self, request):
        name = self._tls_name or request.url.host
        # The field Host, or :authority, has been made of the endpoint before.
        request.url = request.url.copy_with(host=self._address[0], port=self._address[1])
        request.extensions = {**request.extensions, "sni_hostname": name}
        return self._inner.handle_request(request)

    def close(self):
        self._inner.close()


class Session:
    """What pywebpush takes for a session of requests."""

    def __init__(self, transport):
        self._client = httpx.Client(transport=transport, timeout=SECONDS, trust_env=False,
                                    follow_redirects=False)
        self.versions = set()

    def post(self, url, data=None, headers=None, timeout=None):
        response = self._client.post(url, content=data, headers=headers)
        self.versions.add(response.http_version)
        response.reason = response.reason_phrase
        return response


def read_key(path):
    with open(path, "rb") as file:
        return Vapid02(private_key=load_pem_private_key(file.read(), None))


class Client:
    def __init__(self, flags, subscription, key=None):
        host, _, port = flags.server.rpartition(":")
        self.session = Session(
            Elsewhere(host.strip("[]"), int(port), flags.ca, flags.tls_name))
        self.subscription = subscription
        self.key = key or read_key(flags.vapid_key)
        self.subject = flags.subject
        self.count = 0
        self.problems = []

    def claims(self, **changes):
        """pywebpush writes into what it is given: new ones for each push."""
        return {"sub": self.subject, "aud": origin(self.subscription["endpoint"]),
                "exp": int(time.time()) + 43_200, **changes}

    def send(self, data=MESSAGE, key=None, claims=None, headers=None, endpoint=None, **more):
        """The response, refusals too."""
        headers = {"Urgency": "high", "Topic": "A" * 32, **(headers or {})}
        if urllib.parse.urlsplit(self.subscription["endpoint"]).hostname.endswith(
                ".notify.windows.com"):
            headers["X-WNS-Cache-Policy"] = "cache"
        subscription = {**self.subscription, "endpoint": endpoint or self.subscription["endpoint"]}
        try:
            return webpush(
                subscription, data, vapid_private_key=key or self.key,
                vapid_claims=self.claims() if claims is None else claims,
                headers=headers, ttl=TTL, requests_session=self.session, **more)
        except WebPushException as error:
            if error.response is None:
                raise
            return error.response

    def expect(self, is_so, problem):
        self.count += 1
        if not is_so:
            self.problems.append(problem)

    def expect_status(self, what, response, statuses):
        self.expect(
            response.status_code in statuses,
            f"{what}: {response.status_code} {response.text[:200]!r}, "
            f"not {' or '.join(map(str, statuses))}")


def accepted(client):
    response = client.send()
    client.expect_status("a push", response, (201,))
    location = response.headers.get("location", "")
    client.expect(
        location.startswith(("https://", "/")), f"a push: Location is {location!r}")
    kept = response.headers.get("ttl", str(TTL))
    client.expect(kept.isdigit() and int(kept) <= TTL, f"a push: TTL is {kept!r}")
    client.expect_status("the same topic again", client.send(), (201,))
    client.expect_status("a push without a message", client.send(b""), (201,))
    client.expect_status("a body of 4096 bytes", client.send(b"x" * 3993), (201,))


def refused(client):
    stranger = Vapid02(private_key=ec.generate_private_key(ec.SECP256R1()))
    now = int(time.time())
    for what, response, statuses in (
            ("another's key", client.send(key=stranger), CREDENTIALS),
            ("no credentials", client.send(claims={}), CREDENTIALS),
            ("a token for 25 hours", client.send(claims=client.claims(exp=now + 90_000)),
             CREDENTIALS),
            ("another audience", client.send(claims=client.claims(aud="https://a.example.com")),
             CREDENTIALS),
            ("the old encryption", client.send(content_encoding="aesgcm"), REQUEST),
            ("a topic of 33", client.send(headers={"Topic": "A" * 33}), REQUEST),
            ("an unknown urgency", client.send(headers={"Urgency": "urgent"}), REQUEST),
            ("a body of 4097 bytes", client.send(b"x" * 3994), SIZE),
            ("an endpoint that never was", client.send(endpoint=_stranger_endpoint(client)),
             ENDPOINT)):
        client.expect_status(what, response, statuses)
    # Encrypted for somebody else. A real service cannot see it; one that stands in for it must.
    keys = {"p256dh": webpush_samples.text(webpush_samples.point(
        ec.generate_private_key(ec.SECP256R1()))), "auth": webpush_samples.text(os.urandom(16))}
    right, client.subscription = client.subscription, {**client.subscription, "keys": keys}
    response = client.send()
    client.subscription = right
    client.expect_status("a message for another browser", response, (400, 403))


def _stranger_endpoint(client):
    endpoint = client.subscription["endpoint"]
    return endpoint[:-12] + "strangerX_-9"


def run(flags, subscription):
    """Returns the exit code."""
    client = Client(flags, subscription)
    try:
        if flags.expect == 201:
            accepted(client)
            refused(client)
        else:
            response = client.send()
            client.expect_status("a push", response, (flags.expect,))
            if flags.retry_after:
                wait = response.headers.get("retry-after")
                client.expect(wait == flags.retry_after, f"a push: Retry-After is {wait!r}")
    except (httpx.HTTPError, WebPushException, OSError) as error:
        client.expect(False, f"{type(error).__name__}: {error}")
    for problem in client.problems:
        print(problem)
    print(f"{client.count} answers looked at, {len(client.problems)} wrong "
          f"({', '.join(sorted(client.session.versions)) or 'no connection'})")
    return 1 if client.problems else 0
