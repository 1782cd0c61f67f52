"""Requests of Web Push, right and spoiled: the RFCs' own, and some made by http-ece and PyJWT."""

import base64
import json
import os
import time

import http_ece
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

# RFC 8291, appendix A.
RFC_BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6T"
    "lzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4"
    "a-fN")
RFC_PRIVATE_KEY = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
RFC_AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
# RFC 8292, section 2.4; its token ended in 2016.
RFC_AUTHORIZATION = (
    "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJle"
    "HAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGk"
    "MlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, "
    "k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs")
RFC_EXPIRY = 1_453_523_768

ENDPOINT = "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABexample"
MESSAGE = {"web_push": 8030, "notification": {
    "title": "Aikoがライブ配信中", "body": "Speedrun", "navigate": "https://example.com/s42",
    "tag": "live-s42", "data": {"stream": "b-991"},
    "actions": [{"action": "open", "title": "Watch", "navigate": "https://example.com/s42"}]}}


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def point(key):
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


class Sender:
    """A browser and an application server, each with its keys."""

    def __init__(self):
        self.browser, self.vapid, self.stranger = (
            ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
        self.auth = os.urandom(16)

    def token(self, signer=None, algorithm="ES256", **changes):
        claims = {"aud": "https://updates.push.services.mozilla.com",
                  "exp": int(time.time()) + 43_200, "sub": "mailto:push@example.com", **changes}
        claims = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(claims, signer or self.vapid, algorithm=algorithm)

    def body(self, message=None, plaintext=None, receiver=None, key=None, auth=None):
        if plaintext is None:
            plaintext = json.dumps(message or MESSAGE, ensure_ascii=False).encode()
        return http_ece.encrypt(
            plaintext, salt=os.urandom(16),
            private_key=key or ec.generate_private_key(ec.SECP256R1()),
            dh=point(receiver or self.browser), auth_secret=auth or self.auth,
            version="aes128gcm")

    def request(self, token=None, body=None, headers=None, **changes):
        fields = {
            "ttl": "3600", "urgency": "high", "topic": "A" * 32, "content-encoding": "aes128gcm",
            "authorization": f"vapid t={token or self.token()}, k={text(point(self.vapid))}",
            **(headers or {})}
        return {
            "endpoint": ENDPOINT, "body": base64.b64encode(body or self.body()).decode(),
            "headers": {name: value for name, value in fields.items() if value is not None},
            "private_key": text(self.browser.private_numbers().private_value.to_bytes(32, "big")),
            "auth": text(self.auth), "vapid_key": text(point(self.vapid)), **changes}


def rfc_request():
    return {
        "endpoint": "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
        "headers": [["TTL", "10"], ["Content-Encoding", "aes128gcm"],
                    ["Authorization", RFC_AUTHORIZATION]],
        "body": RFC_BODY, "private_key": RFC_PRIVATE_KEY, "auth": RFC_AUTH,
        "at": RFC_EXPIRY - 3600}


def _flipped(data, index):
    return data[:index] + bytes([data[index] ^ 1]) + data[index + 1:]


def _message(**changes):
    return {**MESSAGE, "notification": {**MESSAGE["notification"], **changes}}


def _spoiled_headers(sender):
    make = sender.request
    made = make()
    twice = [*made["headers"].items(), ("Urgency", "low")]
    return {
        "no TTL": (make(headers={"ttl": None}), "TTL"),
        "a TTL of half a second": (make(headers={"ttl": "0.5"}), "TTL"),
        "an unknown urgency": (make(headers={"urgency": "urgent"}), "urgency"),
        "urgency twice": (dict(made, headers=twice), "twice"),
        "a topic of 33": (make(headers={"topic": "A" * 33}), "topic"),
        "a topic that is none for Apple": (make(headers={"topic": "A" * 29}), "topic"),
        "a topic with a dot": (make(headers={"topic": "live.42"}), "topic"),
        "a header of the old scheme": (make(headers={"crypto-key": "dh=x"}), "crypto-key"),
        "the old scheme": (make(headers={"content-encoding": "aesgcm"}), "content-encoding"),
        "no encoding": (make(headers={"content-encoding": None}), "content-encoding"),
        "an endpoint without TLS": (make(endpoint="http://push.example.net/x"), "no https"),
        "headers that are none": (dict(made, headers=["ttl"]), "neither"),
        "an endpoint that is a number": (make(endpoint=7), "no https"),
        "no endpoint": ({k: v for k, v in made.items() if k != "endpoint"}, "no endpoint"),
    }


def _spoiled_tokens(sender):
    make, token = sender.request, sender.token
    now = int(time.time())
    good = token()
    head, claims, signature = good.split(".")
    unsigned = text(b'{"typ":"JWT","alg":"none"}')
    key = text(point(sender.stranger))
    return {
        "no token": (make(headers={"authorization": None}), "authorization"),
        "a bearer": (make(headers={"authorization": f"Bearer {good}"}), "authorization"),
        "another's signature": (make(token(sender.stranger)), "VAPID"),
        "another's key": (make(headers={"authorization": f"vapid t={good}, k={key}"}), "VAPID"),
        "a subscription of another key": (make(vapid_key=key), "was made with"),
        "no algorithm": (make(f"{unsigned}.{claims}.{signature}"), "VAPID"),
        "no algorithm and no signature": (make(f"{unsigned}.{claims}."), "64 bytes"),
        "a shared secret": (make(token("secret" * 9, "HS256")), "64 bytes"),
        "a short signature": (make(f"{head}.{claims}.{signature[:80]}"), "64 bytes"),
        "another origin": (make(token(aud="https://fcm.googleapis.com")), "Audience"),
        "the endpoint as audience": (make(token(aud=ENDPOINT)), "Audience"),
        "a list of audiences": (
            make(token(aud=["https://updates.push.services.mozilla.com"])), "strict"),
        "a token that has ended": (make(token(exp=now - 1)), "ends in"),
        "a token for 25 hours": (make(token(exp=now + 90_000)), "ends in"),
        "a token without end": (make(token(exp=None)), "exp"),
        "no subject": (make(token(sub=None)), "sub"),
        "a subject at localhost": (make(token(sub="mailto:a@localhost")), "sub is"),
        "a subject in brackets": (make(token(sub="mailto:<a@example.com>")), "sub is"),
        "mailto: twice": (make(token(sub="mailto:mailto:a@example.com")), "sub is"),
    }


def _spoiled_bodies(sender):
    make, body = sender.request, sender.body
    good = body()
    used = rfc_request()
    return {
        "for another browser": (make(body=body(receiver=sender.stranger)), "http-ece"),
        "another secret": (make(body=body(auth=os.urandom(16))), "http-ece"),
        "a flipped bit": (make(body=_flipped(good, len(good) - 1)), "http-ece"),
        "a flipped bit of the salt": (make(body=_flipped(good, 0)), "http-ece"),
        "a key off the curve": (make(body=_flipped(body(), 85)), "http-ece"),
        "cut off": (make(body=good[:90]), "65 bytes"),
        "no key": (make(body=good[:20] + b"\0" + good[21:]), "65 bytes"),
        "two records": (make(body=good[:16] + b"\0\0\0\x40" + good[20:]), "one record"),
        "too long": (make(body=body(plaintext=b"x" * 3994)), "4097 bytes"),
        "encrypted with VAPID's key": (make(body=body(key=sender.vapid)), "encrypt, too"),
        "the same salt again": (dict(used, at=RFC_EXPIRY - 60), "used before"),
        "no JSON": (make(body=body(plaintext=b"hello")), "no JSON"),
        "no UTF-8": (make(body=body(plaintext=b"\xff")), "no UTF-8"),
        "no notification": (make(body=body({"title": "x"})), "no notification"),
        "no title": (make(body=body(_message(title=""))), "title"),
        "another number": (make(body=body(dict(MESSAGE, web_push=8031))), "web_push"),
        "no page": (make(body=body(_message(navigate=None))), "navigate"),
        "an action without a page": (
            make(body=body(_message(actions=[{"action": "a", "title": "b"}]))), "navigate"),
        "a script for a page": (make(body=body(_message(navigate="javascript:x"))), "navigate"),
    }


def requests():
    """Right ones and spoiled ones for messages that are JSON; right ones for any messages."""
    sender = Sender()
    plain = {"notification": {"title": "Aiko is live"}}
    full = json.dumps(_message(body="")).encode()
    longest = json.dumps(_message(body="x" * (3993 - len(full)))).encode()
    seen = sender.request(body=base64.urlsafe_b64decode(RFC_BODY + "=="))
    right = {
        "declarative": sender.request(),
        "for a service worker": sender.request(body=sender.body(plain)),
        "of 4096 bytes": sender.request(body=sender.body(plaintext=longest)),
        "now or never": sender.request(
            headers={"ttl": "0", "topic": None, "urgency": None}),
    }
    spoiled = {**_spoiled_headers(sender), **_spoiled_tokens(sender), **_spoiled_bodies(sender)}
    # The RFC's message is no JSON; it is refused for that only when its salt is new.
    spoiled = {"the RFCs' sample, which is no JSON": (rfc_request(), "no JSON"), **spoiled,
               "the RFC's body with others' keys": (seen, "used before"),
               "the RFC's token today": (dict(rfc_request(), at=time.time()), "ends in")}
    return right, spoiled, {"the RFCs' sample": rfc_request()}
