import DeadLetters
import JSON
import Text

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
        types: ["application/json"], schema: act([named, corrected, filtered, tried])),
      answers: [(200, "What became of the letters, or would", shared("DeadLetterReport"))],
      own: ["404"]),
    OpenAPIOperation(
      method: "POST", pattern: "/v1/dead-letters/drop", name: "dropDeadLetters", scope: .admin,
      summary: "Marks dead letters as not needed",
      body: .init(types: ["application/json"], schema: act([named, filtered, tried])),
      answers: [(200, "What became of the letters, or would", shared("DeadLetterReport"))]),
  ]

  private static func shared(_ name: String) -> JSONValue { OpenAPI.reference("schemas", name) }

  private static let words = schema(OpenAPISchemas.letterWords)
  private static let time = schema(OpenAPISchemas.letterTime)
  private static let state = schema(OpenAPISchemas.letterState)

  private static func act(_ bodies: [String]) -> JSONValue {
    schema("{\"anyOf\": [\(bodies.joined(separator: ", "))]}")
  }

  // MARK: bodies

  private static let named = body(
    #""letters""#, "\(letters(atMost: DeadLetterRoutes.maximumLetters)), \(dryRun)")
  private static let corrected = body(
    #""letters", "value""#,
    #"\#(letters(atMost: 1)), \#(dryRun), "value": {"type": "string", "pattern": \#(noNUL)}"#)
  private static let filtered = body(#""filter", "expected""#, "\(filter), \(dryRun)")
  /// A dry run finds out how many there are.
  private static let tried = body(
    #""filter", "dry_run""#, #"\#(filter), "dry_run": {"const": true}"#)

  /// - Parameters:
  ///   - required: names of members, as JSON.
  ///   - members: with their schemas, as JSON; others are those of all bodies.
  private static func body(_ required: String, _ members: String) -> String {
    """
    {"type": "object", "additionalProperties": false, "required": [\(required)],
      "properties": {\(members), "reason": \(OpenAPISchemas.reason),
        "expected": {"type": "integer", "minimum": 0, "maximum": \(JSONObject.maximumCount)}}}
    """
  }

  private static func letters(atMost maximum: Int) -> String {
    """
    "letters": {"type": "array", "minItems": 1, "maxItems": \(maximum),
      "items": {"$ref": "#/components/schemas/DeadLetterID"}}
    """
  }

  private static let filter = ##""filter": {"$ref": "#/components/schemas/DeadLetterFilter"}"##
  private static let dryRun = #""dry_run": {"type": "boolean"}"#
  private static let noNUL = OpenAPISchemas.noNUL
}

extension OpenAPISchemas {
  static let letterState =
    #"{"enum": ["\#(LetterState.allCases.map(\.rawValue).joined(separator: #"", ""#))"]}"#

  /// A pattern: texts of JSON have no NUL here.
  static let noNUL = #""^[^\\u0000]*$""#

  static let letterWords = """
    {"type": "string", "minLength": 1, "maxLength": \(LetterFilter.maximumLength),
      "pattern": \(noNUL)}
    """

  static let letterTime =
    #"{"type": "integer", "minimum": 0, "maximum": \#(Timestamp.range.upperBound)}"#

  /// Why somebody acts.
  static let reason = """
    {"type": "string", "maxLength": \(APIRequest.maximumReason), "pattern": \(noNUL),
      "description": "For the audit line."}
    """

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
      parsed(
        """
        {"type": "string", "pattern": "^[0-9]{1,9}:[0-9]{1,18}$",
          "description": "The partition and the offset of the record."}
        """)
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
    {"type": "object", "additionalProperties": false,
      "description": "All of its members must hold, and one of them must not be state or all.",
      "anyOf": [{"required": ["event"]}, {"required": ["streamer"]}, {"required": ["code"]},
        {"required": ["text"]}, {"required": ["since_ms"]}, {"required": ["until_ms"]}],
      "properties": {"event": \(letterWords), "streamer": \(letterWords),
        "code": \(letterWords), "text": \(letterWords),
        "since_ms": \(letterTime), "until_ms": \(letterTime),
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
