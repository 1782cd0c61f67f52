import Ingest
import JSON
import Keyspace
import Model
import Rules
import Subscriptions
import Traces

/// The shapes of what is sent and answered.
enum OpenAPISchemas {
  /// Which schema a placeholder of a path has.
  static let pathNames = [
    "user": "Identifier", "streamer": "Identifier", "tag": "Tag", "token": "Token",
    "fcm_token": "FCMToken", "endpoint": "PushEndpoint",
    "event": "EventID", "import": "EventID", "erasure": "EventID", "letter": "DeadLetterID",
  ]

  static let all: JSONValue = {
    var all = ours.object ?? JSONObject()
    for (name, schema) in ofEvents + ofTraces + ofDeadLetters { all[name] = schema }
    return .object(all)
  }()

  /// As JSON: no name has a character that JSON escapes.
  private static let timeZones = "[\"" + ZoneNames.zones.joined(separator: "\",\"") + "\"]"

  private static let ours: JSONValue = parsed(
    """
    {"Identifier": {"type": "string", "minLength": 1,
        "maxLength": \(Keyspace.maximumIdentifierBytes),
        "pattern": "^[^\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f{}]+$",
        "description": "At most \(Keyspace.maximumIdentifierBytes) bytes of UTF-8. A streamer's \
    id must not end in :<digits>:<digits>."},
      "Tag": {"type": "string", "minLength": 1, "maxLength": \(Keyspace.maximumIdentifierBytes),
        "pattern": "^[ -z|~]+$", "not": {"pattern": ":[0-9]+:[0-9]+$"}},
      "Identifiers": {"type": "string", "description": "Separated by commas.",
        "pattern": "^[^,\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f{}]{1,32}\
    (,[^,\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f{}]{1,32})*$"},
      "Token": {"type": "string", "minLength": 2, "maxLength": \(Platform.apns.tokens.maximumBytes),
        "pattern": "^([0-9a-fA-F]{2})+$",
        "description": "Hex digits, also as phones print them, with spaces and <>."},
      "FCMToken": {"type": "string", "minLength": 1,
        "maxLength": \(Platform.fcm.tokens.maximumBytes), "pattern": "^[!-z|~]+$",
        "description": "The registration token, or the installation id, as Firebase gives it."},
      "PushEndpoint": {"type": "string", "minLength": 12, "maxLength": \(PushEndpoint.maximumBytes),
        "pattern": "^https://[a-z0-9.:-]+/[!-z|~]*$",
        "description": "The subscription's endpoint, percent-encoded in a path. Its host must be \
    one of those that are allowed."},
      "SubscriptionKeys": {"type": "object", "required": ["p256dh", "auth"],
        "additionalProperties": false, "properties": {
          "p256dh": {"type": "string", "pattern": "^[A-Za-z0-9_-]{87}$"},
          "auth": {"type": "string", "pattern": "^[A-Za-z0-9_-]{22}$"}},
        "description": "As the browser has them; p256dh is a point of the curve P-256."},
      "VAPIDKey": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$",
        "description": "The id of the VAPID key pair that the subscription was made with. Without \
    it the current one."},
      "EventID": {"type": "string", "minLength": 1, "maxLength": 64,
        "pattern": "^[A-Za-z0-9._:-]+$"},
      "IdempotencyKey": {"type": "string", "minLength": 1, "maxLength": 128,
        "pattern": "^[!-~]+$"},
      "Topic": {"type": "string", "minLength": 1, "maxLength": \(Binding.maximumTopicBytes),
        "pattern": "^[A-Za-z0-9.-]+$",
        "description": "The app's bundle id, with the suffix of a push type that has its own \
    tokens."},
      "Environment": {"enum": ["production", "sandbox"]},
      "Time": {"type": "integer", "minimum": \(BindingTime.earliest),
        "maximum": \(BindingTime.latest),
        "description": "Milliseconds since 1970. A time in the future counts as now."},
      "TimeZone": {"anyOf": [{"type": "null"}, {"type": "string",
        "pattern": "^((UTC|GMT)([+-](0[0-9]|1[01]):[0-5][0-9])?)?$"},
        {"enum": \(timeZones)}],
        "description": "A name of the IANA database, in upper or lower case, or an offset."},
      "Problem": {"type": "object", "required": ["type", "title", "status", "detail", "request_id"],
        "properties": {"type": {"type": "string"}, "title": {"type": "string"},
          "status": {"type": "integer"}, "detail": {"type": "string"},
          "request_id": {"type": "string"}, "reason": {"type": "string"}}},
      "Device": {"type": "object", "required": ["platform", "token", "topic"],
        "properties": {"platform": {"enum": ["apns", "fcm", "webpush"]},
          "token": {"type": "string"}, "topic": {"type": "string"},
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

extension OpenAPISchemas {
  private static let verdicts = TraceVerdict.allCases.map { "\"\($0.rawValue)\"" }
    .joined(separator: ", ")

  /// Members of a trace and of each of its devices.
  private static let finding = """
    "verdict": {"enum": [\(verdicts)]}, "reason": {"type": "string"},
    "explanation": {"type": "string"}, "next": {"type": "string"}
    """

  /// Members of what a platform's devices get.
  private static let message = """
    "bytes": {"type": "integer"}, "shortened": {"type": "boolean"},
    "payload": {"description": "Only with a key of scope app-server or admin."}
    """

  /// The outcome of an event for one user.
  static let ofTraces: [(String, JSONValue)] = [
    (
      "Trace",
      parsed(
        """
        {"type": "object",
          "required": ["event", "user", "verdict", "reason", "explanation", "next", "fanout",
            "follows_now", "segment", "segment_settled", "devices", "problems", "suppressed_now",
            "rendered_now"],
          "properties": {"event": {"type": "string"}, "user": {"type": "string"}, \(finding),
            "fanout": {"type": "object", "required": ["state", "streamer", "template"]},
            "follows_now": {"type": ["boolean", "null"]},
            "segment": {"type": ["string", "null"]}, "segment_settled": {"type": "boolean"},
            "devices": {"type": "array",
              "items": {"$ref": "#/components/schemas/TracedDevice"}},
            "problems": {"type": "array", "items": {"type": "string"}},
            "suppressed_now": {"type": ["string", "null"]},
            "rendered_now": {"type": "object", "properties": {"problem": {"type": "string"},
              "locale": {"type": "string"}, \(message),
              "fcm": {"type": "object", "description": "Android's message, if it gets one",
                "properties": {"problem": {"type": "string"}, \(message)}},
              "webpush": {"type": "object", "description": "Browsers' message, if they get one",
                "properties": {"problem": {"type": "string"}, \(message)}}}}}}
        """)
    ),
    (
      "TracedDevice",
      parsed(
        """
        {"type": "object",
          "required": ["state", "verdict", "reason", "explanation", "next"],
          "properties": {\(finding), "state": {"enum": ["bound", "set_aside", "gone"]},
            "environment": {"type": ["string", "null"]}, "topic": {"type": ["string", "null"]},
            "token": {"type": ["string", "null"],
              "description": "The full token with a key of scope app-server or admin, otherwise \
        its first 8 digits and …"},
            "since_ms": {"type": ["integer", "null"]}, "apns_id": {"type": ["string", "null"]},
            "at_ms": {"type": ["integer", "null"]}, "sends": {"type": ["integer", "null"]}}}
        """)
    ),
  ]
}

extension OpenAPISchemas {
  /// The body of `POST /v1/fanouts`.
  static let anyEvent: JSONValue = parsed(
    """
    {"anyOf": [{"$ref": "#/components/schemas/Event"},
      {"$ref": "#/components/schemas/StreamEnd"},
      {"$ref": "#/components/schemas/CloudEvent"},
      {"$ref": "#/components/schemas/CloudEventEnd"}]}
    """)

  /// An event, the end of a stream, and either in an envelope of CloudEvents.
  static let ofEvents: [(String, JSONValue)] = [
    ("Event", event), ("EventData", eventData),
    ("StreamEnd", end(#"["type", "streamer", "stream", "occurred_at"]"#)),
    ("StreamEndData", end(#"["streamer", "stream"]"#)),
    ("CloudEvent", envelope(of: "live", "EventData", ownID)),
    ("CloudEventEnd", envelope(of: "ended", "StreamEndData")),
    (
      "Anything",
      parsed(
        """
        {"description": "Any JSON without NUL.", "pattern": "^[^\\\\u0000]*$",
          "propertyNames": {"pattern": "^[^\\\\u0000]*$"},
          "items": {"$ref": "#/components/schemas/Anything"},
          "additionalProperties": {"$ref": "#/components/schemas/Anything"}}
        """)
    ),
  ]

  /// An event's id is the envelope's where it has none; the end of a stream needs none.
  private static let ownID = """
    , {"anyOf": [{"properties": {"id": {"$ref": "#/components/schemas/EventID"}}},
      {"properties": {"data": {"required": ["id"]}}}]}
    """

  private static func envelope(of what: String, _ data: String, _ id: String = "") -> JSONValue {
    parsed(
      """
      {"type": "object", "required": ["specversion", "id", "source", "type", "data"],
        "description": "If data has no id, occurred_at or type, the envelope's id, time and the \
      end of its type are used. data may also be a string that holds the JSON, or data_base64.",
        "allOf": [
          {"anyOf": [{"required": ["time"], "properties": {
              "time": {"$ref": "#/components/schemas/Event/properties/occurred_at"}}},
            {"properties": {"data": {"required": ["occurred_at"]}}}]},
          {"anyOf": [{"properties": {
              "type": {"pattern": "^([a-z]+\\\\.)*stream\\\\.\(what)$"}}},
            {"properties": {"data": {"required": ["type"]}}}]}\(id)],
        "additionalProperties": {"$ref": "#/components/schemas/Anything"},
        "propertyNames": {"pattern": "^[^\\\\u0000]*$"},
        "properties": {"specversion": {"const": "1.0"},
          "id": {"type": "string", "minLength": 1, "pattern": "^[^\\\\u0000]*$"},
          "source": {"type": "string", "minLength": 1, "pattern": "^[^\\\\u0000]*$"},
          "type": {"type": "string", "minLength": 1, "pattern": "^[^\\\\u0000]*$"},
          "datacontenttype": {"anyOf": [{"type": "null"},
            {"type": "string", "pattern": "^(|text/json|application/([a-z0-9.-]+\\\\+)?json)$"}]},
          "data_base64": {"type": "null"},
          "data": {"$ref": "#/components/schemas/\(data)"}}}
      """)
  }

  private static func end(_ required: String) -> JSONValue {
    let anything = ##"{"$ref": "#/components/schemas/Anything"}"##
    return parsed(
      """
      {"type": "object", "required": \(required), "additionalProperties": false,
        "properties": {"type": {"const": "stream.ended"}, "id": \(anything), "app": \(anything),
          "data": \(anything), "template": \(anything), "expires_in": \(anything),
          "pushes_per_second": \(anything), "audience": \(anything), "send_at": \(anything),
          "streamer": {"type": "object", "required": ["id"],
            "propertyNames": {"pattern": "^[^\\\\u0000]*$"},
            "additionalProperties": \(anything), "properties": {
            "id": {"$ref": "#/components/schemas/Event/properties/streamer/properties/id"}}},
          "stream": {"type": "object", "required": ["id"],
            "propertyNames": {"pattern": "^[^\\\\u0000]*$"},
            "additionalProperties": \(anything), "properties": {
            "id": {"$ref": "#/components/schemas/Event/$defs/identifier"}}},
          "occurred_at": {"$ref": "#/components/schemas/Event/properties/occurred_at"}}}
      """)
  }

  /// Inside an envelope, which may say the rest.
  private static let eventData: JSONValue = {
    var schema = event.object ?? JSONObject()
    schema["required"] = .array(["app", "streamer", "stream"].map { .string($0) })
    schema["$defs"] = nil
    return .object(schema)
  }()

  /// As it stands in the file, but that its parts are found from the top of the whole document.
  private static let event: JSONValue = {
    let text = EventSchema.text.split(separator: "\"#/$defs/", omittingEmptySubsequences: false)
      .joined(separator: "\"#/components/schemas/Event/$defs/")
    var schema = parsed(text).object ?? JSONObject()
    schema["$schema"] = nil
    schema["$id"] = nil
    return .object(schema)
  }()
}
