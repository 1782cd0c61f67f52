"""Judges requests of Web Push by code that nobody here wrote: http-ece decrypts them, py-vapid
verifies their signature, PyJWT reads their claims; and pywebpush asks what stands in for a service.

    webpush.py < REQUESTS            requests as they were sent, a line of JSON each
    webpush.py --self-check          whether this judge refuses spoiled requests
    webpush.py --server HOST:PORT --ca FILE --subscription FILE --vapid-key FILE
                                     pywebpush sends to a server, rightly and wrongly
    webpush.py ... --expect 410      the same for a subscription whose answer is this status
    webpush.py --server HOST:PORT --ca FILE --control-token FILE
                                     the same with each service and each fault of Fanfare's
                                     simulator, which makes the subscriptions

A request is {"endpoint": URL, "headers": {name: value} or [[name, value], ...], "body": base64,
"private_key": the browser's, 32 bytes, "auth": its secret, both base64url}. It may have "at": when
it was sent, in seconds since 1970, now unless given; and "vapid_key": the public key that the
subscription was made with, base64url.

Exit code: 0 all is right, 1 something is wrong, 2 called wrongly.
"""

import argparse
import base64
import binascii
import json
import re
import sys
import time
import urllib.parse

import http_ece
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02, VapidException

import webpush_samples
from judging import Wrong, judge_lines, parse, self_check

# RFC 8030: 4096 bytes must be taken. RFC 8188's header with a key of P-256.
MOST_BODY_BYTES = 4096
HEADER_BYTES = 16 + 4 + 1 + 65
# RFC 8292: at most 24 hours.
MOST_VALID_SECONDS = 86_400
# Services keep a message for about a month at most.
MOST_TTL_SECONDS = 31 * 86_400
URGENCIES = ("very-low", "low", "normal", "high")
# What Apple takes: an address at a host with a dot, or a page.
SUBJECT = re.compile(r"mailto:[^\s<>@:]+@[\w-]+(\.[\w-]+)+|https://[\w-]+(\.[\w-]+)+[^\s<>]*")


def decoded(text, what):
    try:
        if not isinstance(text, str):
            raise ValueError
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4),
                                validate=True)
    except (ValueError, binascii.Error):
        raise Wrong(f"{what} is no base64") from None


def origin(endpoint):
    """Scheme, host and port, the usual port left out (RFC 6454)."""
    if not isinstance(endpoint, str):
        raise Wrong("the endpoint is no https URL")
    parts = urllib.parse.urlsplit(endpoint)
    if parts.scheme != "https" or not parts.hostname or parts.username or parts.fragment:
        raise Wrong("the endpoint is no https URL")
    port = f":{parts.port}" if parts.port not in (None, 443) else ""
    return f"https://{parts.hostname}{port}"


class RequestJudge:
    """Raises Wrong for a request that a service or a browser would refuse."""

    def __init__(self, needs_json=True):
        self.needs_json = needs_json
        self.salts = set()

    def __call__(self, request):
        if not isinstance(request, dict):
            raise Wrong("the line is no object")
        missing = {"endpoint", "headers", "body", "private_key", "auth"} - set(request)
        if missing:
            raise Wrong(f"the line has no {', '.join(sorted(missing))}")
        headers = self._headers(request["headers"])
        self._check_headers(headers)
        key = self._check_vapid(headers, request)
        body = decoded(request["body"], "the body")
        if not body:
            if "content-encoding" in headers:
                raise Wrong("there is a content-encoding, and no body")
            return
        if headers.get("content-encoding") != "aes128gcm":
            raise Wrong(f"content-encoding is {headers.get('content-encoding')!r}")
        self._check_payload(self._decrypt(body, request, key))

    @staticmethod
    def _headers(written):
        pairs = list(written.items()) if isinstance(written, dict) else written
        if not isinstance(pairs, list) or not all(
                len(pair) == 2 and all(isinstance(part, str) for part in pair) for pair in pairs):
            raise Wrong("the headers are neither an object nor pairs of texts")
        headers = {}
        for name, value in pairs:
            if name.lower() in headers:
                raise Wrong(f"the header {name} is there twice")
            headers[name.lower()] = value
        return headers

    @staticmethod
    def _check_headers(headers):
        ttl = headers.get("ttl", "")
        if not re.fullmatch(r"\d{1,10}", ttl) or int(ttl) > MOST_TTL_SECONDS:
            raise Wrong(f"TTL is {ttl!r}")
        if headers.get("urgency", "normal") not in URGENCIES:
            raise Wrong(f"urgency is {headers['urgency']!r}")
        topic = headers.get("topic", "AAAA")
        # Apple decodes it.
        if not re.fullmatch(r"[\w-]{1,32}", topic, re.A) or len(topic) % 4 == 1:
            raise Wrong(f"topic is {topic!r}: at most 32 characters of base64url")
        for name in ("encryption", "crypto-key"):
            if name in headers:
                raise Wrong(f"{name} does not go with aes128gcm")

    @staticmethod
    def _check_vapid(headers, request):
        written = headers.get("authorization", "")
        match = re.fullmatch(r"vapid t=([\w.-]+), ?k=([\w-]+)", written, re.A | re.I)
        if not match:
            raise Wrong("authorization is not 'vapid t=TOKEN, k=KEY'")
        token, key = match.groups()
        signature = token.rpartition(".")[2]
        if len(decoded(signature, "the signature")) != 64:
            raise Wrong("the signature of the token is not of 64 bytes")
        try:
            # py-vapid takes no space behind the comma.
            is_signed = Vapid02.verify(f"vapid t={token},k={key}")
            public = ec.EllipticCurvePublicKey.from_encoded_point(
                ec.SECP256R1(), decoded(key, "k"))
            claims = jwt.decode(
                token, public, algorithms=["ES256"], audience=origin(request["endpoint"]),
                # Against the time of the request, below.
                options={"require": ["aud", "exp", "sub"], "verify_exp": False,
                         "strict_aud": True})
        except (VapidException, ValueError, jwt.PyJWTError) as error:
            raise Wrong(f"VAPID: {error}") from None
        if not is_signed:
            raise Wrong("VAPID: py-vapid finds the signature wrong")
        left = claims["exp"] - request.get("at", time.time())
        if type(claims["exp"]) is not int or not 0 < left <= MOST_VALID_SECONDS:
            raise Wrong(f"VAPID: the token ends in {left:.0f} s, of at most {MOST_VALID_SECONDS}")
        if not SUBJECT.fullmatch(claims["sub"]):
            raise Wrong(f"VAPID: sub is {claims['sub']!r}, no mailto: or https: that Apple takes")
        if "vapid_key" in request and decoded(request["vapid_key"], "vapid_key") != decoded(
                key, "k"):
            raise Wrong("VAPID: k is not the key that the subscription was made with")
        return public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def _decrypt(self, body, request, vapid_key):
        if len(body) > MOST_BODY_BYTES:
            raise Wrong(f"the body has {len(body)} bytes, at most {MOST_BODY_BYTES}")
        if len(body) < HEADER_BYTES + 17 or body[20] != 65:
            raise Wrong("the body does not begin with a key of 65 bytes")
        record = int.from_bytes(body[16:20], "big")
        if len(body) - HEADER_BYTES > record:
            raise Wrong("the body has more than one record")
        if body[21:HEADER_BYTES] == vapid_key:
            raise Wrong("the key of the token is used to encrypt, too")
        # With the key it makes the nonce, which must not come twice.
        if body[:16] in self.salts:
            raise Wrong("the salt was used before")
        self.salts.add(body[:16])
        scalar = decoded(request["private_key"], "private_key")
        auth = decoded(request["auth"], "auth")
        if len(scalar) != 32 or len(auth) != 16:
            raise Wrong("private_key has 32 bytes, auth 16")
        private = ec.derive_private_key(int.from_bytes(scalar, "big"), ec.SECP256R1())
        try:
            return http_ece.decrypt(
                body, private_key=private, auth_secret=auth, version="aes128gcm")
        except (http_ece.ECEException, ValueError) as error:
            raise Wrong(f"http-ece: {getattr(error, 'message', error)}") from None

    def _check_payload(self, plaintext):
        """JSON that a service worker shows; and Declarative Web Push, where it says it is."""
        if not self.needs_json:
            return
        try:
            message = parse(plaintext.decode())
        except UnicodeDecodeError:
            raise Wrong("the message is no UTF-8") from None
        shown = message.get("notification") if isinstance(message, dict) else None
        if not isinstance(shown, dict):
            raise Wrong("the message has no notification")
        if not isinstance(shown.get("title"), str) or not shown["title"]:
            raise Wrong("notification.title is missing")
        if "web_push" in message and message["web_push"] != 8030:
            raise Wrong(f"web_push is {message['web_push']!r}")
        targets = [shown] if "web_push" in message or "navigate" in shown else []
        targets += [action for action in shown.get("actions", []) if "web_push" in message]
        for target in targets:
            if not str(target.get("navigate", "")).startswith("https://"):
                raise Wrong(f"navigate is {target.get('navigate')!r}, no https URL")


def check_itself():
    right, spoiled, anything = webpush_samples.requests()
    failed = self_check(RequestJudge(), right, spoiled)
    return self_check(RequestJudge(needs_json=False), anything, {}) or failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--any-payload", action="store_true",
                        help="messages may be anything, not only JSON with a notification")
    parser.add_argument("--server", metavar="HOST:PORT", help="where pywebpush sends to")
    parser.add_argument("--ca", metavar="FILE", help="whom to trust, as PEM")
    parser.add_argument("--subscription", metavar="FILE", help="as a browser makes it, as JSON")
    parser.add_argument("--vapid-key", metavar="FILE",
                        help="the private key that it was made with, as PEM")
    parser.add_argument("--control-token", metavar="FILE", help="the simulator's")
    parser.add_argument("--subject", default="mailto:push@example.com", help="the claim sub")
    parser.add_argument("--tls-name", metavar="NAME",
                        help="whose certificate to expect; the endpoint's host unless given")
    parser.add_argument("--expect", type=int, default=201, metavar="STATUS")
    parser.add_argument("--retry-after", metavar="SECONDS", help="expect this header, too")
    flags = parser.parse_args()
    if flags.self_check:
        return check_itself()
    if flags.server:
        if flags.ca and flags.control_token:
            from webpush_simulator import run
            return run(flags)
        if not (flags.ca and flags.subscription and flags.vapid_key):
            parser.error(
                "--server needs --ca, and --subscription with --vapid-key or --control-token")
        with open(flags.subscription, encoding="utf-8") as file:
            subscription = json.load(file)
        from webpush_client import run
        return run(flags, subscription)
    return judge_lines(sys.stdin, RequestJudge(needs_json=not flags.any_payload))


if __name__ == "__main__":
    sys.exit(main())
