import Checks
import Settings
import Terminal
import Testing

@Suite struct ConfigurationSchemaTests {
  private func members(_ value: JSONOutput?) -> JSONObject {
    if case .object(let object)? = value { object } else { [:] }
  }

  /// The schema of a key; nil when it is not in the schema.
  private func schema(of path: String) -> JSONObject? {
    var schema = members(ConfigurationSchema.json)
    for name in path.split(separator: ".") {
      guard let next = members(schema["properties"])[String(name)] else { return nil }
      schema = members(next)
    }
    return schema
  }

  @Test func everyKeyIsInTheSchema() {
    for key in SettingTable.keys {
      let found = schema(of: key.path)
      #expect(found != nil, "\(key.path)")
      #expect(found?["properties"] == nil, "\(key.path)")
      guard case .text(let words)? = found?["description"] else {
        Issue.record("\(key.path) has no description")
        continue
      }
      #expect(words.hasPrefix(key.explanation))
      #expect((found?["default"] == nil) == (key.defaultValue == nil), "\(key.path)")
    }
  }

  @Test func groupsTakeNoOtherKeys() {
    for group in SettingTable.groups {
      #expect(schema(of: group)?["additionalProperties"] == .bool(false), "\(group)")
    }
  }

  @Test func boundsAreThoseOfTheTable() {
    #expect(schema(of: "redis.port")?["minimum"] == .integer(1))
    #expect(schema(of: "redis.port")?["maximum"] == .integer(65_535))
    #expect(schema(of: "kafka.fetch_wait_maximum")?["default"] == .text("100ms"))
    #expect(schema(of: "kafka.maximum_event_bytes")?["default"] == .text("64KiB"))
    #expect(
      schema(of: "log.level")?["enum"]
        == .array(
          [.text("error"), .text("warning"), .text("notice"), .text("info"), .text("debug")]
            + [.null]))
    #expect(
      schema(of: "redis.sentinel.tls.enabled")?["enum"]
        == .array(
          [.text("as_redis"), .bool(true), .text("true"), .bool(false), .text("false")]
            + [.null]))
  }

  @Test func noSecretHasADefault() {
    for key in SettingTable.keys {
      guard case .secret = key.kind else { continue }
      #expect(schema(of: key.path)?["default"] == nil)
    }
  }
}
