#!/usr/bin/env python3
"""What a backend asks of `fanfare api`, with Python's standard library alone.

    FANFARE_URL=http://127.0.0.1:8080 FANFARE_KEY=ffk_... python3 examples/python/backend.py
"""
import datetime
import json
import os
import urllib.error
import urllib.parse
import urllib.request
import uuid

URL = os.environ.get("FANFARE_URL", "http://127.0.0.1:8080")
KEY = os.environ["FANFARE_KEY"]


def ask(method, path, body=None, headers={}):
    """One request. A refusal is an exception that says what to change."""
    request = urllib.request.Request(URL + path, method=method)
    request.add_header("Authorization", "Bearer " + KEY)
    for name, value in headers.items():
        request.add_header(name, value)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=15) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        raise RuntimeError(f"{problem['status']}: {problem['detail']}") from None


def path(*names):
    """Ids may hold anything: each is escaped for itself."""
    return "/v1/" + "/".join(urllib.parse.quote(name, safe="") for name in names)


def launched(user, token, app, old_token=None, environment="production"):
    """At log-in and at each launch, with what the app was given: once more does no harm."""
    body = {"topic": app, "environment": environment}
    if old_token and old_token != token:
        body["replaces"] = old_token
    return ask("PUT", path("users", user, "devices", token), body)


def logged_out(user, token):
    return ask("DELETE", path("users", user, "devices", token))


def went_live(streamer, name, app, stream, title):
    """The event's id makes it one event however often it is sent; the key, one request."""
    event = {
        "id": "live-" + uuid.uuid4().hex[:16],
        "app": app,
        "streamer": {"id": streamer, "name": name},
        "stream": {"id": stream, "title": title},
        "occurred_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
    }
    return ask("POST", "/v1/fanouts", event, {"Idempotency-Key": event["id"]})


if __name__ == "__main__":
    app, token = "com.example.live", "00aa" * 16
    print(launched("u1", token, app))
    print(ask("PATCH", path("users", "u1", "profile"), {"locale": "ja", "name": "Ken"}))
    print(ask("PUT", path("users", "u1", "follows", "s42")))
    print(went_live("s42", "Aiko", app, "b-991", "Speedrun night"))
    # Empty until a worker has read the event.
    print(ask("GET", "/v1/fanouts?limit=1"))
    print(logged_out("u1", token))
