"""A request of FCM against Google's own description of the interface, the discovery document that
google-api-python-client has in it (fcm.v1). ProtoJSON says how values are written."""

import datetime
import importlib.resources
import json
import re

from judging import Wrong

# The description of android.ttl: four weeks at most.
MOST_TTL_SECONDS = 2_419_200
TARGETS = ("token", "fid", "topic", "condition")
DURATION = re.compile(r"-?\d{1,12}(\.\d{1,9})?s")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
RESERVED = re.compile(r"from|message_type|google\..*|gcm\.notification\..*", re.S)
RANGES = {"int32": range(-2**31, 2**31), "uint32": range(2**32),
          "int64": range(-2**63, 2**63), "uint64": range(2**64)}


def load():
    package = importlib.resources.files("googleapiclient.discovery_cache")
    return json.loads((package / "documents" / "fcm.v1.json").read_text())


def camel(name):
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def snake(name):
    return re.sub(r"[A-Z]", lambda match: "_" + match[0].lower(), name)


def seconds(text):
    """Of a google.protobuf.Duration."""
    return float(text[:-1])


class RequestSchema:
    """Checks bodies of projects.messages.send, and writes them in one form."""

    def __init__(self):
        self.document = load()
        methods = self.document["resources"]["projects"]["resources"]["messages"]["methods"]
        self.root = methods["send"]["request"]

    def read(self, body):
        """The body with the schema's own names of the fields. Raises Wrong."""
        request = self._value(self.root, body, "the body")
        message = request.get("message")
        if message is None:
            raise Wrong("the body has no message")
        targets = [name for name in TARGETS if name in message]
        if len(targets) != 1 or not message[targets[0]]:
            raise Wrong(f"one target is needed, there are: {', '.join(targets) or 'none'}")
        if "android" in message and "androidV2" in message:
            raise Wrong("message has both android and androidV2")
        for place in ("android", "androidV2"):
            ttl = message.get(place, {}).get("ttl", "0s")
            if not 0 <= seconds(ttl) <= MOST_TTL_SECONDS:
                raise Wrong(f"message.{place}.ttl is {ttl}: 0s to {MOST_TTL_SECONDS}s is allowed")
            self._check_data(message.get(place, {}), f"message.{place}")
        self._check_data(message, "message")
        return request

    @staticmethod
    def _check_data(holder, place):
        for key in holder.get("data", {}):
            if RESERVED.fullmatch(key):
                raise Wrong(f"{place}.data has the reserved key {key!r}")

    def _value(self, schema, value, place):
        if "$ref" in schema:
            schema = self.document["schemas"][schema["$ref"]]
        check = {
            "object": self._object, "array": self._array, "string": self._text,
            "boolean": self._boolean, "integer": self._integer, "number": self._number,
            "any": lambda schema, value, place: value,
        }[schema["type"]]
        return check(schema, value, place)

    def _object(self, schema, value, place):
        if not isinstance(value, dict):
            raise Wrong(f"{place} is no object")
        if "additionalProperties" in schema:
            return {name: self._value(schema["additionalProperties"], member, f"{place}.{name}")
                    for name, member in value.items()}
        known = schema.get("properties", {})
        made = {}
        for written, member in value.items():
            # The protocol buffer's own name is allowed, too.
            name = camel(written)
            if name not in known or written not in (name, snake(name)):
                raise Wrong(f"{place} has the unknown field {written!r}")
            if name in made:
                raise Wrong(f"{place} has {name} under both of its names")
            description = known[name].get("description", "").lower()
            if known[name].get("readOnly") or description.startswith("output only"):
                raise Wrong(f"{place}.{name} is for answers only")
            made[name] = self._value(known[name], member, f"{place}.{name}")
        return made

    def _array(self, schema, value, place):
        if not isinstance(value, list):
            raise Wrong(f"{place} is no list")
        return [self._value(schema["items"], item, f"{place}[{index}]")
                for index, item in enumerate(value)]

    @staticmethod
    def _boolean(schema, value, place):
        if not isinstance(value, bool):
            raise Wrong(f"{place} is no boolean")
        return value

    @staticmethod
    def _integer(schema, value, place):
        if type(value) is not int or value not in RANGES[schema["format"]]:
            raise Wrong(f"{place} is no {schema['format']}")
        return value

    @staticmethod
    def _number(schema, value, place):
        if type(value) not in (int, float):
            raise Wrong(f"{place} is no number")
        return value

    @staticmethod
    def _text(schema, value, place):
        if not isinstance(value, str):
            raise Wrong(f"{place} is no text")
        form = schema.get("format")
        if "enum" in schema and value not in schema["enum"]:
            raise Wrong(f"{place} is {value!r}, none of {', '.join(schema['enum'])}")
        if form == "google-duration" and not DURATION.fullmatch(value):
            raise Wrong(f"{place} is {value!r}, no duration")
        if form == "google-datetime":
            RequestSchema._check_timestamp(value, place)
        if form in ("int64", "uint64"):
            if not re.fullmatch(r"-?\d{1,20}", value):
                raise Wrong(f"{place} is {value!r}, no {form} as text")
            RequestSchema._integer({"format": form}, int(value), place)
        return value

    @staticmethod
    def _check_timestamp(value, place):
        try:
            if not TIMESTAMP.fullmatch(value):
                raise ValueError
            datetime.datetime.fromisoformat(value[:19] + "+00:00")
        except ValueError:
            raise Wrong(f"{place} is {value!r}, no timestamp of RFC 3339") from None
