"""A message of FCM against the one that firebase-admin would send: the equal messaging.Message is
built from it, encoded by firebase-admin, and compared field by field.

firebase-admin leaves empty texts in and empty maps and lists out, and writes some values in another
form; both sides are brought into one form first.
"""

import datetime
import warnings

from firebase_admin import messaging
from firebase_admin._messaging_encoder import MessageEncoder

from fcm_schema import seconds, snake
from judging import Wrong

# The arguments that firebase-admin has under another name, or of another type.
RENAMED = {
    "eventTime": "event_timestamp", "vibrateTimings": "vibrate_timings_millis",
    "lightOnDuration": "light_on_duration_millis", "lightOffDuration": "light_off_duration_millis",
    "notificationPriority": "priority",
}
DURATIONS = ("ttl", "lightOnDuration", "lightOffDuration")


def _milliseconds(text):
    return round(seconds(text) * 1000)


def _colour(value):
    parts = [value.get(name, 0) for name in ("red", "green", "blue", "alpha")]
    return "#" + "".join(f"{round(part * 255):02x}" for part in parts)


def _moment(text):
    """Of RFC 3339, whose fraction may have more digits than Python takes."""
    whole, _, rest = text.replace("Z", "+00:00").partition(".")
    if not rest:
        return datetime.datetime.fromisoformat(whole)
    digits = rest[:-6][:6].ljust(6, "0")
    return datetime.datetime.fromisoformat(f"{whole}.{digits}{rest[-6:]}")


def _argument(name, value):
    if name == "ttl":
        return datetime.timedelta(milliseconds=_milliseconds(value))
    if name in DURATIONS:
        return _milliseconds(value)
    if name == "vibrateTimings":
        return [_milliseconds(item) for item in value]
    if name == "eventTime":
        return _moment(value)
    if name == "notificationPriority":
        return value.removeprefix("PRIORITY_").lower()
    if name in ("priority", "visibility", "proxy"):
        return value.lower()
    return value


def _make(kind, value, place, **parts):
    """An object of firebase-admin. parts: how members that are objects themselves are made."""
    arguments = {}
    for name, member in value.items():
        made = parts[name](member) if name in parts else _argument(name, member)
        arguments[RENAMED.get(name, snake(name))] = made
    try:
        return kind(**arguments)
    except TypeError as error:
        raise Wrong(f"firebase-admin cannot say this of {place}: {error}") from None


def _light(value):
    return _make(messaging.LightSettings, value, "lightSettings", color=_colour)


def _android(value):
    return _make(
        messaging.AndroidConfig, value, "android",
        notification=lambda part: _make(
            messaging.AndroidNotification, part, "android.notification", lightSettings=_light),
        fcmOptions=lambda part: _make(messaging.AndroidFCMOptions, part, "android.fcmOptions"))


def build(message):
    """The equal messaging.Message.

    message: with the schema's names, as RequestSchema.read returns it.
    """
    for name in ("apns", "webpush"):
        if name in message:
            raise Wrong(f"message.{name}: this judge is for Android's messages alone")
    with warnings.catch_warnings():
        # Registration tokens are deprecated in favour of installation ids.
        warnings.simplefilter("ignore", DeprecationWarning)
        return _make(
            messaging.Message, message, "message", android=_android,
            notification=lambda part: _make(messaging.Notification, part, "notification"),
            fcmOptions=lambda part: _make(messaging.FCMOptions, part, "fcmOptions"))


def _plain(value, name=""):
    """One form for what may be written in several; empty maps and lists are left out."""
    if name == "data":
        return value
    if name == "color" and isinstance(value, dict):
        return _colour(value)
    if isinstance(value, dict):
        members = {key: _plain(member, key) for key, member in value.items()}
        return {key: member for key, member in members.items() if member not in ({}, [])}
    if isinstance(value, list):
        return [_plain(item, name) for item in value]
    if name in (*DURATIONS, "vibrateTimings"):
        return _milliseconds(value)
    if name == "eventTime":
        return _moment(value).timestamp()
    if name == "priority":
        return value.upper()
    return value


def _differences(ours, theirs, place):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            if name not in ours:
                yield f"{place}.{name} is missing: firebase-admin has {theirs[name]!r}"
            elif name not in theirs:
                yield f"{place}.{name} is {ours[name]!r}: firebase-admin leaves it out"
            else:
                yield from _differences(ours[name], theirs[name], f"{place}.{name}")
    elif ours != theirs or isinstance(ours, bool) != isinstance(theirs, bool):
        yield f"{place} is {ours!r}: firebase-admin writes {theirs!r}"


def compare(message, schema, meant=None):
    """Raises Wrong where firebase-admin refuses the message or would write another one.

    meant: what firebase-admin is to write; the message itself unless given.
    """
    try:
        encoded = MessageEncoder().default(build(meant or message))
    except ValueError as error:
        raise Wrong(f"firebase-admin refuses it: {error}") from None
    # It writes this one in small letters, which Google takes as well.
    if "priority" in encoded.get("android", {}):
        encoded["android"]["priority"] = encoded["android"]["priority"].upper()
    theirs = schema.read({"message": encoded})["message"]
    different = list(_differences(_plain(message), _plain(theirs), "message"))
    if different:
        raise Wrong("; ".join(different))
