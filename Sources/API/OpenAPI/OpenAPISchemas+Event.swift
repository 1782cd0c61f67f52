import Ingest
import JSON

extension OpenAPISchemas {
  /// What `POST /v1/fanouts` takes.
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
        "description": "id, time and the end of type stand in for what data does not have, which \
      may also be a string that holds it, or data_base64.",
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
          "pushes_per_second": \(anything), "audience": \(anything),
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
