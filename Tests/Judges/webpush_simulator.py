"""pywebpush against Fanfare's simulator of push services: each service, and each of its faults,
with subscriptions that the simulator makes on request (POST /simulator/subscriptions)."""

import types

import httpx
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02
from pywebpush import WebPushException

import webpush_client
import webpush_samples

HOSTS = ("fcm.googleapis.com", "updates.push.services.mozilla.com", "web.push.apple.com",
         "wns2-by3p.notify.windows.com", "one.push.test", "http1.push.test")
# What pywebpush must see of each fault; some services have statuses of their own.
FAULTS = {
    "gone": (410,), "not_found": (400, 404), "too_many": (429, 406), "throttled": (406, 429),
    "too_large": (400, 413), "bad_request": (400,), "internal": (500,), "bad_gateway": (502,),
    "unavailable": (503,), "unauthorized": (400, 401, 403), "other_key": (400, 401, 403),
    "bad_token": (400, 401, 403), "redirect": (307,)}
WAITING = ("too_many", "throttled")


class Simulator:
    def __init__(self, flags):
        self.flags = flags
        self.key = Vapid02(private_key=ec.generate_private_key(ec.SECP256R1()))
        with open(flags.control_token, encoding="utf-8") as file:
            self._token = file.read().strip()
        host, _, port = flags.server.rpartition(":")
        self._client = httpx.Client(
            transport=webpush_client.Elsewhere(host.strip("[]"), int(port), flags.ca, None),
            timeout=webpush_client.SECONDS, trust_env=False)

    def client(self, host, **wanted):
        """A client with a new subscription at this host."""
        reply = self._client.post(
            "https://localhost/simulator/subscriptions", headers={"simulator-token": self._token},
            json={"host": host, "application_server_key":
                  webpush_samples.text(webpush_samples.point(self.key.private_key)), **wanted})
        reply.raise_for_status()
        flags = types.SimpleNamespace(**{**vars(self.flags), "vapid_key": None})
        return webpush_client.Client(flags, reply.json()["subscriptions"][0], self.key)


def _try_host(simulator, host):
    """All answers of one host, as (problems, count, versions)."""
    client = simulator.client(host)
    webpush_client.accepted(client)
    webpush_client.refused(client)
    clients = [client]
    for fault, statuses in FAULTS.items():
        client = simulator.client(host, fault=fault)
        clients.append(client)
        response = client.send()
        client.expect_status(fault, response, statuses)
        if fault in WAITING:
            wait = response.headers.get("retry-after", "")
            client.expect(wait.isdigit() and int(wait) > 0, f"{fault}: Retry-After is {wait!r}")
    client = simulator.client(host, fault="unavailable", tries=1)
    clients.append(client)
    client.expect_status("refused once", client.send(), (503,))
    client.expect_status("refused once, then", client.send(), (201,))
    versions = set().union(*(client.session.versions for client in clients))
    wanted = "HTTP/1.1" if host.startswith("http1.") else "HTTP/2"
    clients[0].expect(versions == {wanted}, f"speaks {versions}, not {wanted}")
    return clients


def run(flags):
    """Returns the exit code."""
    count, problems = 0, []
    try:
        simulator = Simulator(flags)
        for host in HOSTS:
            for client in _try_host(simulator, host):
                count += client.count
                problems += [f"{host}: {problem}" for problem in client.problems]
    except (httpx.HTTPError, WebPushException, OSError) as error:
        problems.append(f"{type(error).__name__}: {error}")
    for problem in problems:
        print(problem)
    print(f"{count} answers of {len(HOSTS)} services looked at, {len(problems)} wrong")
    return 1 if problems or not count else 0
