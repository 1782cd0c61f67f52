/// An event as JSON Schema says it: `Config/event.schema.json` is this text, and the API's
/// description has it within.
package enum EventSchema {
  package static let text = """
    {
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "$id": "urn:fanfare:event",
      "title": "A streamer went live",
      "description": "The value of a record on the topic notify-followers. The record's key is \
    streamer.id, or none. The value is one JSON document in UTF-8 of at most 64 KiB \
    (kafka.maximum_event_bytes), without a byte-order mark, duplicate names in an object, or \
    \\\\u0000. streamer, stream and data together hold at most 63 values. A record that breaks \
    these rules goes to the dead letters, with the reason in its headers.",
      "type": "object",
      "required": ["id", "app", "streamer", "stream", "occurred_at"],
      "additionalProperties": false,
      "properties": {
        "type": {
          "description": "What happened. The end of a stream is stream.ended, a document with \
    type, streamer.id, stream.id and occurred_at (see docs/events.md).",
          "type": "string",
          "pattern": "^stream\\\\.live$",
          "default": "stream.live"
        },
        "id": {
          "description": "The event's unique id: a second event with the same id is dropped. \
    Templates use it as event.id.",
          "type": "string",
          "pattern": "^[A-Za-z0-9._:-]{1,64}$"
        },
        "app": {
          "description": "The app's bundle id. With the suffix of the template's push type, it is \
    the topic of the devices that get the push.",
          "type": "string",
          "pattern": "^[A-Za-z0-9.-]{1,255}$"
        },
        "streamer": {
          "description": "The streamer who went live. Every member is a template field, such as \
    streamer.name.",
          "$ref": "#/$defs/values",
          "required": ["id"],
          "properties": {
            "id": {
              "description": "1 to 128 bytes in UTF-8. It must not end in :<digits>:<digits>, \
    which names a shard of followers.",
              "$ref": "#/$defs/identifier",
              "not": { "pattern": ":[0-9]+:[0-9]+$" }
            }
          }
        },
        "stream": {
          "description": "The stream. Every member is a template field, such as stream.title.",
          "$ref": "#/$defs/values",
          "required": ["id"],
          "properties": { "id": { "$ref": "#/$defs/identifier" } }
        },
        "data": {
          "description": "Other values for templates, which use them as data.<name>.",
          "$ref": "#/$defs/names",
          "additionalProperties": { "$ref": "#/$defs/valueOrStructure" }
        },
        "template": {
          "description": "The name of a template in Config/templates.",
          "type": "string",
          "pattern": "^[a-z0-9-]{1,64}$",
          "default": "go-live"
        },
        "occurred_at": {
          "description": "A time of RFC 3339, in the years 1970 to 9999, without leap seconds, and \
    at most ten minutes ahead of the worker's clock. Templates use it as event.occurred_at, and \
    the expiry as event.expires_at, in whole seconds since 1970.",
          "type": "string",
          "format": "date-time",
          "pattern": "^(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([0\
    1][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\\\.[0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])\
    $"
        },
        "expires_in": {
          "description": "The event's lifetime from occurred_at, in whole seconds. Nothing is sent \
    after it.",
          "type": "integer",
          "minimum": 1,
          "maximum": 2592000,
          "default": 900
        },
        "audience": {
          "description": "The users whom the event addresses; by default the streamer's followers. \
    It lists users by id, or is an expression of tags. It must include somebody: a not is only \
    allowed in an and, beside something that is not negated.",
          "anyOf": [
            {
              "type": "object",
              "required": ["users"],
              "additionalProperties": false,
              "properties": {
                "users": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 1000,
                  "items": { "$ref": "#/$defs/identifier" }
                }
              }
            },
            { "$ref": "#/$defs/list" },
            {
              "type": "object",
              "required": ["or"],
              "additionalProperties": false,
              "properties": {
                "or": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 8,
                  "items": { "$ref": "#/$defs/some" }
                }
              }
            },
            {
              "type": "object",
              "required": ["and"],
              "additionalProperties": false,
              "properties": {
                "and": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 8,
                  "contains": { "$ref": "#/$defs/some" },
                  "items": {
                    "anyOf": [
                      { "$ref": "#/$defs/part" },
                      {
                        "type": "object",
                        "required": ["not"],
                        "additionalProperties": false,
                        "properties": { "not": { "$ref": "#/$defs/part" } }
                      }
                    ]
                  }
                }
              }
            }
          ]
        },
        "pushes_per_second": {
          "description": "The event's limit of pushes a second, for all workers together; a whole \
    number.",
          "type": "integer",
          "minimum": 1,
          "maximum": 1000000
        }
      },
      "$defs": {
        "identifier": {
          "description": "1 to 128 bytes in UTF-8, without control characters and braces, because \
    it becomes part of Redis keys.",
          "type": "string",
          "pattern": "^[^\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f{}]{1,128}$"
        },
        "list": {
          "description": "The users who have a tag, or the streamer's followers.",
          "anyOf": [
            {
              "type": "object",
              "required": ["tag"],
              "additionalProperties": false,
              "properties": {
                "tag": {
                  "$ref": "#/$defs/identifier",
                  "pattern": "^[ -~]+$",
                  "not": { "pattern": ":[0-9]+:[0-9]+$" }
                }
              }
            },
            {
              "type": "object",
              "required": ["followers"],
              "additionalProperties": false,
              "properties": { "followers": { "const": true } }
            }
          ]
        },
        "listOrNot": {
          "anyOf": [
            { "$ref": "#/$defs/list" },
            {
              "type": "object",
              "required": ["not"],
              "additionalProperties": false,
              "properties": { "not": { "$ref": "#/$defs/list" } }
            }
          ]
        },
        "some": {
          "description": "An expression that includes somebody.",
          "anyOf": [
            { "$ref": "#/$defs/list" },
            {
              "type": "object",
              "required": ["or"],
              "additionalProperties": false,
              "properties": {
                "or": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 4,
                  "items": { "$ref": "#/$defs/list" }
                }
              }
            },
            {
              "type": "object",
              "required": ["and"],
              "additionalProperties": false,
              "properties": {
                "and": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 4,
                  "contains": { "$ref": "#/$defs/list" },
                  "items": { "$ref": "#/$defs/listOrNot" }
                }
              }
            }
          ]
        },
        "part": {
          "description": "An expression that may only exclude users, because something beside it \
    includes them.",
          "anyOf": [
            { "$ref": "#/$defs/list" },
            {
              "type": "object",
              "minProperties": 1,
              "maxProperties": 1,
              "additionalProperties": false,
              "properties": {
                "or": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 4,
                  "items": { "$ref": "#/$defs/listOrNot" }
                },
                "and": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 4,
                  "items": { "$ref": "#/$defs/listOrNot" }
                }
              }
            }
          ]
        },
        "names": {
          "type": "object", "maxProperties": 63,
          "propertyNames": { "pattern": "^[A-Za-z0-9_-]{1,64}$" }
        },
        "values": { "$ref": "#/$defs/names", "additionalProperties": { "$ref": "#/$defs/value" } },
        "value": {
          "description": "A text of at most 1024 bytes in UTF-8, a number (whole numbers within 64 \
    bits, signed), or a boolean.",
          "type": ["string", "number", "boolean"],
          "pattern": "^[^\\\\u0000]*$",
          "maxLength": 1024
        },
        "valueOrStructure": {
          "description": "An object or a list has at most 1024 bytes, as JSON.",
          "anyOf": [
            { "$ref": "#/$defs/value" }, { "type": ["object", "array"], "$ref": "#/$defs/nested" }
          ]
        },
        "nested": {
          "pattern": "^[^\\\\u0000]*$",
          "propertyNames": { "pattern": "^[^\\\\u0000]*$" },
          "items": { "$ref": "#/$defs/nested" },
          "additionalProperties": { "$ref": "#/$defs/nested" }
        }
      },
      "examples": [
        {
          "id": "live-8f2c",
          "app": "com.example.live",
          "streamer": { "id": "s42", "name": "Aiko" },
          "stream": { "id": "b-991", "title": "Speedrun night", "category": "Games" },
          "template": "go-live",
          "occurred_at": "2026-11-21T08:00:00Z",
          "expires_in": 900
        },
        {
          "id": "live-8f2d",
          "app": "com.example.live",
          "streamer": { "id": "s42" },
          "stream": { "id": "b-992", "viewers": 12, "adult": false },
          "data": { "campaign": "autumn" },
          "occurred_at": "2026-11-21T17:00:00.250+09:00"
        }
      ]
    }

    """
}
