"""What schemathesis cannot know of the API: how rows of an import are written."""

import json
import zlib

import schemathesis


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def rows(context, value):
    """A row for whatever it has made up: nothing but a user is needed."""
    return json.dumps({"user": f"u{zlib.crc32(repr(value).encode(errors='replace'))}"}).encode() + b"\n"
