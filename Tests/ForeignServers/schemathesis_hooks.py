"""What schemathesis cannot know of the API: how rows of an import are written, and which days there are."""

import json
import zlib

import schemathesis


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def rows(context, value):
    """A row for whatever it has made up: nothing but a user is needed."""
    return json.dumps({"user": f"u{zlib.crc32(repr(value).encode(errors='replace'))}"}).encode() + b"\n"


@schemathesis.hook
def map_body(context, body):
    """Without `send_at`: a pattern cannot say which dates there are, nor how far ahead they may be."""
    for document in (body, body.get("data") if isinstance(body, dict) else None):
        if isinstance(document, dict):
            document.pop("send_at", None)
    return body
