"""Judges what is sent to Firebase Cloud Messaging, and what stands in for it, by Google's own code.

    fcm.py < BODIES                  bodies of messages:send, a line of JSON each, as they were sent
    fcm.py --self-check              whether this judge refuses spoiled bodies
    fcm.py --server HOST:PORT --service-account FILE --ca FILE
                                     firebase-admin sends to a server, and must know its answers

Each body is held against Google's discovery document (no unknown field, types, enums, durations),
and against what firebase-admin writes for the equal message.

A server must answer registration tokens of the form fault:N:NAME with the fault NAME on the first N
tries (0: on all), and have a rule for tokens that begin with "quota:": QUOTA_EXCEEDED, once, with
Retry-After. `fcm.py --script` prints this rule.

Exit code: 0 all is right, 1 something is wrong, 2 called wrongly.
"""

import argparse
import json
import sys

import fcm_encoder
from fcm_schema import RequestSchema
from judging import judge_lines, self_check

TOKEN = "dGhpcyBpcyBhIHRva2Vu:APA91b-exa_mple"

RIGHT = {
    "one of the least": {"message": {"token": TOKEN, "data": {"a": "b"}}},
    "an installation, Unicode": {"message": {
        "fid": "cAbCdEfGhIjKlMnOpQrStU",
        "notification": {"title": "Aikoがライブ配信中 🎉", "body": ""}}},
    "as a worker sends it": {"message": {
        "token": TOKEN,
        "android": {"ttl": "3599s", "priority": "HIGH",
                    "notification": {"sound": "default", "tag": "live-s42"}},
        "notification": {"title": "Aiko is live", "body": "Hello Ken: Speedrun"},
        "data": {"stream.id": "b-991", "n": "7"}}},
    "all of Android's": {"validateOnly": False, "message": {
        "token": TOKEN, "fcm_options": {"analytics_label": "go-live"},
        "android": {
            "collapse_key": "live", "ttl": "0s", "priority": "NORMAL", "data": {"a": "b"},
            "restrictedPackageName": "com.example.live", "directBootOk": True,
            "bandwidth_constrained_ok": False, "restrictedSatelliteOk": True,
            "fcmOptions": {"analyticsLabel": "a"},
            "notification": {
                "title": "t", "body": "b", "icon": "i", "color": "#ff0044", "sound": "s",
                "tag": "g", "image": "https://example.com/i.png", "click_action": "OPEN",
                "channel_id": "live", "ticker": "x", "title_loc_key": "k", "body_loc_key": "k",
                "title_loc_args": ["1"], "body_loc_args": ["1", "2"], "sticky": True,
                "local_only": False, "event_time": "2026-11-28T06:30:00.123456789+09:00",
                "notification_priority": "PRIORITY_MAX", "visibility": "SECRET",
                "vibrate_timings": ["0.5s", "1s", "0.250s"], "default_sound": True,
                "default_vibrate_timings": False, "default_light_settings": False,
                "notification_count": 3, "proxy": "IF_PRIORITY_LOWERED",
                "light_settings": {"color": {"red": 1, "green": 0.5, "blue": 0, "alpha": 1},
                                   "light_on_duration": "1.5s", "light_off_duration": "1s"}}}}},
}


def _with(**members):
    return {"message": {"token": TOKEN, **members}}


def _android(**members):
    return _with(android={"ttl": "60s", **members})


def _shown(**members):
    return _android(notification=members)


SPOILED = {
    "not an object": ([], "no object"),
    "no message": ({"validateOnly": True}, "no message"),
    "no target": ({"message": {"data": {"a": "b"}}}, "one target"),
    "two targets": (_with(topic="news"), "one target"),
    "an empty target": ({"message": {"token": ""}}, "one target"),
    "an unknown field": (_with(colour="red"), "unknown field"),
    "neither spelling": (_android(collapse_Key="x"), "unknown field"),
    "both spellings": (_android(collapseKey="x", collapse_key="x"), "both of its names"),
    "an answer's field": (_with(name="projects/p/messages/1"), "for answers only"),
    "null": (_with(notification={"title": None}), "no text"),
    "data that is no text": (_with(data={"n": 7}), "no text"),
    "a reserved key": (_with(data={"google.x": "y"}), "reserved"),
    "a ttl without its unit": (_with(android={"ttl": "60"}), "no duration"),
    "a ttl as a number": (_with(android={"ttl": 60}), "no text"),
    "a ttl of ten digits behind the dot": (
        _with(android={"ttl": "1.0000000001s"}), "no duration"),
    "a negative ttl": (_with(android={"ttl": "-1s"}), "is allowed"),
    "a ttl of five weeks": (_with(android={"ttl": "3024000s"}), "is allowed"),
    "an unknown priority": (_android(priority="URGENT"), "none of"),
    "a priority in small letters": (_android(priority="high"), "none of"),
    "a count as text": (_shown(notification_count="3"), "no int32"),
    "a count beyond 32 bits": (_shown(notification_count=2**31), "no int32"),
    "a count that is true": (_shown(notification_count=True), "no int32"),
    "a boolean as text": (_shown(sticky="true"), "no boolean"),
    "a time without zone": (_shown(event_time="2026-11-28T06:30:00"), "no timestamp"),
    "the 31st of June": (_shown(event_time="2026-06-31T06:30:00Z"), "no timestamp"),
    "a list that is text": (_shown(body_loc_key="k", body_loc_args="x"), "no list"),
    "both of Android's": (_android() | {"message": {
        **_android()["message"], "androidV2": {"ttl": "1s"}}}, "both android"),
    "a colour by name": (_shown(color="red"), "firebase-admin refuses"),
    "arguments without key": (_shown(title_loc_args=["x"]), "firebase-admin refuses"),
    "a label with a space": (_with(fcmOptions={"analyticsLabel": "a b"}), "firebase-admin refuses"),
    "lights without durations": (
        _shown(light_settings={"color": {"red": 1, "alpha": 1}}), "firebase-admin"),
}

# What was sent, what firebase-admin was to write, and the problem: the comparison itself.
UNEQUAL = {
    "another text": (_shown(title="a"), _shown(title="b"), "message.android.notification.title"),
    "another ttl": (_android(), _with(android={"ttl": "61s"}), "message.android.ttl"),
    "another target": (_with(), {"message": {"fid": TOKEN}}, "firebase-admin leaves it out"),
    "something is missing": (_with(), _with(data={"a": "b"}), "message.data is missing"),
    "something is too much": (_with(data={"a": "b"}), _with(), "firebase-admin leaves it out"),
    "another colour": (
        *(_shown(light_settings={"color": {"red": red}, "light_on_duration": "1s",
                                 "light_off_duration": "1s"}) for red in (1, 0.9)), "color"),
}


class BodyJudge:
    def __init__(self):
        self.schema = RequestSchema()

    def __call__(self, body):
        fcm_encoder.compare(self.schema.read(body)["message"], self.schema)

    def compare(self, bodies):
        ours, theirs = (self.schema.read(body)["message"] for body in bodies)
        fcm_encoder.compare(ours, self.schema, meant=theirs)


def check_itself():
    judge = BodyJudge()
    spoiled = {name: ((ours, theirs), said) for name, (ours, theirs, said) in UNEQUAL.items()}
    failed = self_check(judge, RIGHT, SPOILED)
    same = {name: (body, body) for name, body in RIGHT.items()}
    return self_check(judge.compare, same, spoiled) or failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--script", action="store_true", help="print the rule for the server")
    parser.add_argument("--server", metavar="HOST:PORT", help="where firebase-admin sends to")
    parser.add_argument("--service-account", metavar="FILE", help="the server's, as JSON")
    parser.add_argument("--ca", metavar="FILE", help="whom to trust, as PEM")
    flags = parser.parse_args()
    if flags.script:
        from fcm_client import SCRIPT
        print(json.dumps(SCRIPT))
        return 0
    if flags.self_check:
        return check_itself()
    if flags.server:
        if not (flags.service_account and flags.ca):
            parser.error("--server needs --service-account and --ca")
        from fcm_client import run
        return run(flags.server, flags.service_account, flags.ca)
    return judge_lines(sys.stdin, BodyJudge())


if __name__ == "__main__":
    sys.exit(main())
