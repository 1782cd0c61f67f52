import JSON
import Traces

extension OpenAPISchemas {
  private static let verdicts = TraceVerdict.allCases.map { "\"\($0.rawValue)\"" }
    .joined(separator: ", ")

  /// What stands in a trace and in each of its devices.
  private static let finding = """
    "verdict": {"enum": [\(verdicts)]}, "reason": {"type": "string"},
    "explanation": {"type": "string"}, "next": {"type": "string"}
    """

  /// What became of an event for one user.
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
              "locale": {"type": "string"}, "bytes": {"type": "integer"},
              "shortened": {"type": "boolean"},
              "payload": {"description": "With a key of scope app-server or admin."}}}}}
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
              "description": "Whole with a key of scope app-server or admin; else its first 8 \
        digits and …"},
            "since_ms": {"type": ["integer", "null"]}, "apns_id": {"type": ["string", "null"]},
            "at_ms": {"type": ["integer", "null"]}, "sends": {"type": ["integer", "null"]}}}
        """)
    ),
  ]
}
