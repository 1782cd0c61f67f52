"""firebase-admin and google-auth as clients of a server that stands in for Google's: does Google's
own code take its access tokens, and does it understand each of its answers as Google documents it?

Google's code has no setting for another server. Two things are put in its place: the address, and
the transport of google-auth, which speaks HTTP/1.1 where the server may speak HTTP/2 alone. What
is asked, and how answers are read, stays Google's.
"""

import asyncio
import json
import os
import ssl
import time
import types
import warnings

import firebase_admin
import google.auth.exceptions
import google.auth.transport
import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from firebase_admin import _http_client, credentials, exceptions, messaging
from google.oauth2 import service_account

# firebase-admin tries a 503 five times, with pauses of seven seconds in all.
SECONDS = 60
RETRY_AFTER = 7
SCOPES = ["https://www.googleapis.com/auth/firebase.messaging"]
SCRIPT = {"rules": [{"prefix": "quota:", "answers": [
    {"fault": "project_quota", "retry_after": RETRY_AFTER, "times": 1}]}]}

# Per token: what firebase-admin must make of the answer; None: accepted.
EXPECTED = {
    "judge:accepted:APA91b": None,
    # Accepted when firebase-admin tries again.
    "fault:1:unavailable:judge": None,
    "fault:1:internal:judge": None,
    "fault:0:unregistered:judge": messaging.UnregisteredError,
    "fault:0:sender_id_mismatch:judge": messaging.SenderIdMismatchError,
    "fault:0:third_party_auth:judge": messaging.ThirdPartyAuthError,
    "fault:0:bad_token:judge": exceptions.InvalidArgumentError,
    "fault:0:bad_payload:judge": exceptions.InvalidArgumentError,
    # Those of the project, which are not the device's.
    "fault:0:not_found:judge": exceptions.NotFoundError,
    "fault:0:forbidden:judge": exceptions.PermissionDeniedError,
    "fault:0:device_quota:judge": messaging.QuotaExceededError,
    "fault:0:project_quota:judge": messaging.QuotaExceededError,
    "fault:0:unavailable:judge": exceptions.UnavailableError,
    "fault:0:internal:judge": exceptions.InternalError,
    "fault:0:empty_internal:judge": exceptions.InternalError,
    "fault:0:bad_gateway:judge": exceptions.UnknownError,
}


class Response(google.auth.transport.Response):
    def __init__(self, response):
        self._response = response

    status = property(lambda self: self._response.status_code)
    headers = property(lambda self: self._response.headers)
    data = property(lambda self: self._response.content)


class Transport(google.auth.transport.Request):
    """What google-auth asks with, in HTTP/2."""

    def __init__(self, authority):
        context = ssl.create_default_context(cafile=authority)
        self._client = httpx.Client(http2=True, verify=context, trust_env=False)
        self.replies = []

    def __call__(self, url, method="GET", body=None, headers=None, timeout=SECONDS, **_):
        try:
            response = self._client.request(
                method, url, content=body, headers=headers, timeout=timeout)
        except httpx.HTTPError as error:
            raise google.auth.exceptions.TransportError(error) from error
        self.replies.append(response)
        return Response(response)


class Judgement:
    def __init__(self):
        self.count = 0
        self.problems = []

    def expect(self, is_so, problem):
        self.count += 1
        if not is_so:
            self.problems.append(problem)

    def finish(self):
        for problem in self.problems:
            print(problem)
        print(f"{self.count} answers looked at, {len(self.problems)} wrong")
        return 1 if self.problems else 0


def _message(token):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return messaging.Message(
            token=token, data={"stream": "s"},
            notification=messaging.Notification(title="Aiko is live", body="ライブ"),
            android=messaging.AndroidConfig(ttl=60, priority="high"))


def _exchange(judgement, file, transport):
    """The token endpoint, asked by google-auth, rightly and wrongly."""
    account = service_account.Credentials.from_service_account_file(file, scopes=SCOPES)
    account.refresh(transport)
    judgement.expect(account.valid and account.token, "google-auth: no access token")
    reply = transport.replies[-1].json()
    judgement.expect(reply.get("token_type") == "Bearer", f"token_type: {reply.get('token_type')}")
    judgement.expect(
        type(reply.get("expires_in")) is int and 0 < reply["expires_in"] <= 3600,
        f"expires_in: {reply.get('expires_in')!r}")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()).decode()
    strangers = {
        "another's key": ({"private_key": key}, SCOPES, "invalid_grant"),
        "another account": ({"client_email": "nobody@example.com"}, SCOPES, "invalid_grant"),
        "no scope": ({}, ["nonsense"], "invalid_scope"),
    }
    with open(file, encoding="utf-8") as opened:
        known = json.load(opened)
    for name, (changes, scopes, expected) in strangers.items():
        stranger = service_account.Credentials.from_service_account_info(
            {**known, **changes}, scopes=scopes)
        try:
            stranger.refresh(transport)
            judgement.expect(False, f"google-auth gets a token with {name}")
        except google.auth.exceptions.RefreshError as error:
            judgement.expect(
                expected in str(error), f"{name}: google-auth reads {error}, not {expected}")


def _judge_response(judgement, token, response, expected, project):
    got = None if response.success else type(response.exception)
    judgement.expect(
        got is expected, f"{token}: firebase-admin makes of it {got and got.__name__}, not "
        f"{expected and expected.__name__}: {response.exception}")
    if response.success:
        judgement.expect(
            response.message_id.startswith(f"projects/{project}/messages/"),
            f"{token}: its id is {response.message_id!r}")


async def _send(judgement, file):
    app = firebase_admin.initialize_app(credentials.Certificate(file))
    tokens = list(EXPECTED)
    answers = await messaging.send_each_async(
        [_message(token) for token in tokens], dry_run=False, app=app)
    for token, response in zip(tokens, answers.responses):
        _judge_response(judgement, token, response, EXPECTED[token], app.project_id)

    started = time.time()
    answer = await messaging.send_each_async([_message("quota:judge")], dry_run=False, app=app)
    response = answer.responses[0]
    _judge_response(
        judgement, "quota:judge", response, messaging.QuotaExceededError, app.project_id)
    if not response.success and response.exception.http_response is not None:
        wait = response.exception.http_response.headers.get("retry-after")
        judgement.expect(
            wait == str(RETRY_AFTER), f"quota:judge: Retry-After is {wait!r} (see --script)")
    judgement.expect(time.time() - started < SECONDS, "quota:judge: took too long")

    # Its access token ends, for all: not beside others.
    for token in ("fault:1:expired_bearer:judge", "judge:validated:APA91b"):
        answer = await messaging.send_each_async(
            [_message(token)], dry_run=token.startswith("judge:"), app=app)
        _judge_response(judgement, token, answer.responses[0], None, app.project_id)

    other = firebase_admin.initialize_app(
        credentials.Certificate(file), {"projectId": "another-project"}, name="other")
    answer = await messaging.send_each_async([_message("judge:x")], dry_run=False, app=other)
    _judge_response(
        judgement, "another project", answer.responses[0], exceptions.NotFoundError,
        "another-project")


def run(server, file, authority):
    """Returns the exit code."""
    os.environ["SSL_CERT_FILE"] = authority
    messaging._MessagingService.FCM_URL = f"https://{server}/v1/projects/{{0}}/messages:send"
    transport = Transport(authority)
    _http_client.google_auth_requests = types.SimpleNamespace(Request=lambda: transport)
    judgement = Judgement()
    try:
        _exchange(judgement, file, transport)
        asyncio.run(asyncio.wait_for(_send(judgement, file), SECONDS))
    except (OSError, ValueError, TimeoutError, exceptions.FirebaseError,
            google.auth.exceptions.GoogleAuthError) as error:
        judgement.expect(False, f"{type(error).__name__}: {error}")
    return judgement.finish()
