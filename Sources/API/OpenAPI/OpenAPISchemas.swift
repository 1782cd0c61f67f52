import JSON
import Keyspace
import Model
import Rules

/// The shapes of what is sent and answered.
enum OpenAPISchemas {
  /// Which schema a placeholder of a path has.
  static let pathNames = [
    "user": "Identifier", "streamer": "Identifier", "tag": "Tag", "token": "Token",
    "event": "EventID", "import": "EventID", "erasure": "EventID",
  ]

  static let all: JSONValue = {
    var all = ours.object ?? JSONObject()
    for (name, schema) in ofEvents + ofTraces { all[name] = schema }
    return .object(all)
  }()

  /// As JSON: no name has a character that JSON escapes.
  private static let timeZones = "[\"" + ZoneNames.zones.joined(separator: "\",\"") + "\"]"

  private static let ours: JSONValue = parsed(
    """
    {"Identifier": {"type": "string", "minLength": 1,
        "maxLength": \(Keyspace.maximumIdentifierBytes),
        "pattern": "^[^\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f{}]+$",
        "description": "At most \(Keyspace.maximumIdentifierBytes) bytes of UTF-8; a \
    streamer's does \
    not end in :<digits>:<digits>."},
      "Tag": {"type": "string", "minLength": 1, "maxLength": \(Keyspace.maximumIdentifierBytes),
        "pattern": "^[ -z|~]+$", "not": {"pattern": ":[0-9]+:[0-9]+$"}},
      "Identifiers": {"type": "string", "description": "Separated by commas.",
        "pattern": "^[^,\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f{}]{1,32}\
    (,[^,\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f{}]{1,32})*$"},
      "Token": {"type": "string", "minLength": 2, "maxLength": \(Platform.apns.tokens.maximumBytes),
        "pattern": "^([0-9a-fA-F]{2})+$",
        "description": "Hex digits; also as phones print it, with spaces and <>."},
      "EventID": {"type": "string", "minLength": 1, "maxLength": 64,
        "pattern": "^[A-Za-z0-9._:-]+$"},
      "IdempotencyKey": {"type": "string", "minLength": 1, "maxLength": 128,
        "pattern": "^[!-~]+$"},
      "Topic": {"type": "string", "minLength": 1, "maxLength": \(Binding.maximumTopicBytes),
        "pattern": "^[A-Za-z0-9.-]+$",
        "description": "The app's bundle id, and the suffix of a push type with own tokens."},
      "Environment": {"enum": ["production", "sandbox"]},
      "Time": {"type": "integer", "minimum": \(BindingTime.earliest),
        "maximum": \(BindingTime.latest),
        "description": "Ms since 1970, since push exists; the future counts as now."},
      "TimeZone": {"anyOf": [{"type": "null"}, {"type": "string",
        "pattern": "^((UTC|GMT)([+-](0[0-9]|1[01]):[0-5][0-9])?)?$"},
        {"enum": \(timeZones)}],
        "description": "A name of the IANA database, in whatever case, or an offset."},
      "Problem": {"type": "object", "required": ["type", "title", "status", "detail", "request_id"],
        "properties": {"type": {"type": "string"}, "title": {"type": "string"},
          "status": {"type": "integer"}, "detail": {"type": "string"},
          "request_id": {"type": "string"}, "reason": {"type": "string"}}},
      "Device": {"type": "object", "required": ["token", "topic", "environment"],
        "properties": {"token": {"type": "string"}, "topic": {"type": "string"},
          "environment": {"$ref": "#/components/schemas/Environment"},
          "bound_at_ms": {"type": "integer"}, "reason": {"type": "string"}}},
      "Devices": {"type": "object", "required": ["devices", "set_aside"],
        "properties": {
          "devices": {"type": "array", "items": {"$ref": "#/components/schemas/Device"}},
          "set_aside": {"type": "array", "items": {"$ref": "#/components/schemas/Device"}}}},
      "Profile": {"type": "object", "additionalProperties": {"type": "string"}},
      "User": {"type": "object", "required": ["user", "devices", "set_aside", "profile"],
        "properties": {"user": {"type": "string"},
          "devices": {"type": "array", "items": {"$ref": "#/components/schemas/Device"}},
          "set_aside": {"type": "array", "items": {"$ref": "#/components/schemas/Device"}},
          "profile": {"$ref": "#/components/schemas/Profile"},
          "events_last_hour": {"type": "integer"}}},
      "Import": {"type": "object",
        "required": ["import", "state", "rows", "refused", "users", "devices", "follows"],
        "properties": {"import": {"type": "string"},
          "state": {"enum": ["running", "done", "failed", "interrupted"]},
          "key": {"type": "string"}, "rows": {"type": "integer"}, "refused": {"type": "integer"},
          "users": {"type": "integer"}, "devices": {"type": "integer"},
          "follows": {"type": "integer"}, "tags": {"type": "integer"},
          "divided": {"type": "array", "items": {"type": "string"}},
          "refusals": {"type": "array", "maxItems": \(ImportReport.maximumRefusals), "items": {
            "type": "object", "required": ["line", "reason"], "properties": {
              "line": {"type": "integer"}, "reason": {"type": "string"}}}},
          "began_at_ms": {"type": "integer"}, "why": {"type": "string"}}},
      "Erasure": {"type": "object", "required": ["erasure", "state", "complete"],
        "properties": {"erasure": {"type": "string"},
          "state": {"enum": ["running", "done", "failed"]}, "complete": {"type": "boolean"},
          "erased": {"type": "object", "additionalProperties": {"type": "integer"}},
          "streamers_looked_at": {"type": "integer"}, "unreadable": {"type": "integer"},
          "why": {"type": "string"}}},
      "FanOut": {"type": "object", "required": ["event", "state"],
        "properties": {"event": {"type": "string"}, "state": {"type": "string"}}}}
    """)

  static func parsed(_ text: String) -> JSONValue {
    do {
      return try JSONValue.parse(Array(text.utf8), maximumDepth: 16)
    } catch {
      preconditionFailure("a schema of ours is no JSON: \(error)")
    }
  }
}
