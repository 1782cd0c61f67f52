"""What schemathesis cannot know of the API: how rows of an import are written, what time it is, and how many bytes a
text has."""

import json
import re
import zlib

import schemathesis


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def rows(context, value):
    """A row for whatever it has made up: nothing but a user is needed."""
    return json.dumps({"user": f"u{zlib.crc32(repr(value).encode(errors='replace'))}"}).encode() + b"\n"


# Of dates from 2026 on. All dates of any year are in the year 2000, which is a leap year.
LATER_YEAR = re.compile(r"^(202[6-9]|20[3-9]\d|2[1-9]\d\d|[3-9]\d{3})(?=-)")


def past(time):
    """A time to send at, in the past: how far ahead it may be depends on when it is read (422)."""
    if isinstance(time, str):
        return LATER_YEAR.sub("2000", time)
    if isinstance(time, dict) and "local" in time:
        return {**time, "local": past(time["local"])}
    return time


def short(name, value):
    """A value of an event in as many bytes as it may have characters; what has too many of these stays as it is."""
    limit = 128 if name == "id" else 1024
    if isinstance(value, str) and len(value) <= limit:
        return value.encode(errors="replace")[:limit].decode(errors="ignore")
    if isinstance(value, (dict, list)) and len(json.dumps(value)) > limit:
        return type(value)()
    return value


@schemathesis.hook
def map_body(context, body):
    for document in (body, body.get("data") if isinstance(body, dict) else None):
        if not isinstance(document, dict):
            continue
        if "send_at" in document:
            document["send_at"] = past(document["send_at"])
        for group in ("streamer", "stream", "data") if "streamer" in document else ():
            if isinstance(document.get(group), dict):
                document[group] = {name: short(name, value) for name, value in document[group].items()}
    return body
