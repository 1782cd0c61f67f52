import DeadLetters
import Ingest
import JSON

/// The arguments and answers of the routes of dead letters.
extension OpenAPIOperations {
  static let deadLetters: [OpenAPIOperation] = [
    OpenAPIOperation(
      method: "GET", pattern: "/v1/dead-letters", name: "listDeadLetters", scope: .readOnly,
      summary: "Lists the newest dead letters that a filter means",
      query: [
        ("event", words), ("streamer", words), ("code", words), ("text", words),
        ("since_ms", time), ("until_ms", time), ("state", state),
        ("all", schema(#"{"enum": ["true", "false"]}"#)),
        ("limit", schema(#"{"type": "integer", "minimum": 1, "maximum": 1000}"#)),
      ],
      answers: [
        (
          200, "The letters, the newest first; `window` says which ones were looked at",
          schema(
            """
            {"type": "object", "required": ["letters", "matched", "scanned", "window"],
              "properties": {
                "letters": {"type": "array", "items": {"$ref": "#/components/schemas/DeadLetter"}},
                "matched": {"type": "integer"}, "scanned": {"type": "integer"},
                "window": {"type": "string"}}}
            """)
        )
      ]),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/dead-letters/{letter}", name: "showDeadLetter",
      scope: .readOnly, summary: "Shows a dead letter, and what a replay would do",
      answers: [(200, "The letter", shared("DeadLetterDetails"))]),
    OpenAPIOperation(
      method: "POST", pattern: "/v1/dead-letters/replay", name: "replayDeadLetters", scope: .admin,
      summary: "Sends dead letters in again, or one with a corrected body",
      body: .init(
        types: ["application/json"], schema: act(#", "value": {"type": "string"}"#)),
      answers: [(200, "What became of the letters, or would", shared("DeadLetterReport"))],
      own: ["404"]),
    OpenAPIOperation(
      method: "POST", pattern: "/v1/dead-letters/drop", name: "dropDeadLetters", scope: .admin,
      summary: "Marks dead letters as not needed",
      body: .init(types: ["application/json"], schema: act("")),
      answers: [(200, "What became of the letters, or would", shared("DeadLetterReport"))]),
  ]

  private static func shared(_ name: String) -> JSONValue { OpenAPI.reference("schemas", name) }

  private static let words = schema(#"{"type": "string", "minLength": 1, "maxLength": 256}"#)

  private static let time = schema(#"{"type": "integer", "minimum": 0}"#)
  private static let state = schema(OpenAPISchemas.letterState)

  private static func act(_ more: String) -> JSONValue {
    schema(
      """
      {"type": "object", "additionalProperties": false, "properties": {
        "letters": {"type": "array", "minItems": 1,
          "maxItems": \(DeadLetterRoutes.maximumLetters),
          "items": {"$ref": "#/components/schemas/DeadLetterID"}},
        "filter": {"$ref": "#/components/schemas/DeadLetterFilter"},
        "expected": {"type": "integer", "minimum": 0},
        "reason": {"type": "string", "maxLength": 100, "pattern": "^[^\\\\u0000]*$",
          "description": "For the audit line"},
        "dry_run": {"type": "boolean"}\(more)}}
      """)
  }
}

extension OpenAPISchemas {
  static let letterState =
    #"{"enum": ["\#(LetterState.allCases.map(\.rawValue).joined(separator: #"", ""#))"]}"#

  private static let letterMembers = """
    "letter": {"$ref": "#/components/schemas/DeadLetterID"},
        "topic": {"type": "string"}, "code": {"type": "string"}, "reason": {"type": "string"},
        "event": {"type": ["string", "null"]}, "streamer": {"type": ["string", "null"]},
        "at_ms": {"type": "integer"}, "state": \(letterState),
        "state_at_ms": {"type": ["integer", "null"]}, "bytes": {"type": "integer"}
    """

  static let ofDeadLetters: [(String, JSONValue)] = [
    (
      "DeadLetterID",
      parsed(#"{"type": "string", "pattern": "^[0-9]{1,10}:[0-9]{1,19}$"}"#)
    ),
    (
      "DeadLetter",
      parsed(
        """
        {"type": "object", "required": ["letter", "topic", "code", "reason", "at_ms", "state",
          "bytes"], "properties": {\(letterMembers)}}
        """)
    ),
    (
      "DeadLetterDetails",
      parsed(
        """
        {"type": "object", "required": ["letter", "topic", "code", "reason", "at_ms", "state",
          "bytes", "source", "headers", "value", "preview"], "properties": {\(letterMembers),
            "source": {"type": "string"}, "headers": {"type": "object"},
            "value": {"type": ["string", "null"],
              "description": "Text where it is UTF-8, else hexadecimal digits"},
            "value_is_text": {"type": "boolean"}, "value_is_cut": {"type": "boolean"},
            "value_withheld": {"type": "boolean",
              "description": "The record names devices: keys of scope read-only do not see it"},
            "preview": {"$ref": "#/components/schemas/DeadLetterPreview"}}}
        """)
    ),
    (
      "DeadLetterPreview",
      parsed(
        """
        {"type": "object", "required": ["fits", "why"],
          "properties": {"fits": {"type": "boolean"}, "why": {"type": "string"}}}
        """)
    ),
    ("DeadLetterFilter", parsed(filter)),
    ("DeadLetterReport", parsed(report)),
  ]

  private static let filter = """
    {"type": "object", "additionalProperties": false, "properties": {
      "event": {"type": "string", "minLength": 1, "maxLength": 256},
      "streamer": {"type": "string", "minLength": 1, "maxLength": 256},
      "code": {"type": "string", "minLength": 1, "maxLength": 256},
      "text": {"type": "string", "minLength": 1, "maxLength": 256},
      "since_ms": {"type": "integer", "minimum": 0},
      "until_ms": {"type": "integer", "minimum": 0},
      "state": \(letterState), "all": {"type": "boolean"}}}
    """

  private static let report = """
    {"type": "object", "required": ["fits", "expired", "already", "refused", "replayed", "dropped",
      "skipped", "dry_run", "stopped"], "properties": {
        "fits": {"type": "integer"}, "expired": {"type": "integer"},
        "already": {"type": "integer"}, "refused": {"type": "integer"},
        "replayed": {"type": "integer"}, "dropped": {"type": "integer"},
        "skipped": {"type": "integer"}, "dry_run": {"type": "boolean"},
        "stopped": {"type": "boolean",
          "description": "The time was over before the rest: send the request again"},
        "reasons": {"type": "array", "items": {"type": "object"}},
        "preview": {"$ref": "#/components/schemas/DeadLetterPreview"}}}
    """
}
