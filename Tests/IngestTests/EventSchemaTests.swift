import Checkout
import JSON
import Testing

@testable import Ingest

/// `Config/event.schema.json` is for those who write events: it must say what the decoder does.
@Suite struct EventSchemaTests {
  private let schema: JSONValue
  private let checker: SchemaChecker

  init() throws {
    schema = try JSONValue.parse(Array(Checkout.text("Config/event.schema.json").utf8))
    checker = SchemaChecker(root: schema)
  }

  private func node(_ path: String...) throws -> JSONObject {
    var node = try #require(schema.object)
    for name in path { node = try #require(node[name]?.object, "\(path)") }
    return node
  }

  @Test func membersAreTheDecoders() throws {
    #expect(schema.object?["$schema"] == "https://json-schema.org/draft/2020-12/schema")
    #expect(Set(try node("properties").members.map(\.name)) == EventDecoder.members)
    #expect(schema.object?["additionalProperties"] == false)
  }

  @Test func requiredMembersAreTheDecoders() throws {
    let required = try #require(schema.object?["required"]?.array).compactMap(\.string)
    for name in EventDecoder.members {
      let isRequired = decode(try sample(name, nil)).error?.code == .missingField
      #expect(required.contains(name) == isRequired, "\(name)")
    }
    for group in ["streamer", "stream"] {
      #expect(try node("properties", group)["required"] == ["id"])
      #expect(decode(try sample("\(group).id", nil)).error?.code == .missingField)
    }
  }

  @Test func limitsAndDefaultsAreTheDecoders() throws {
    let options = IngestOptions()
    let expiry = try node("properties", "expires_in")
    #expect(expiry["maximum"] == .integer(options.maximumExpirySeconds))
    #expect(expiry["default"] == .integer(options.defaultExpirySeconds))
    #expect(expiry["minimum"] == 1)
    let fallback = decode(try sample("template", nil)).event?.template
    #expect(try node("properties", "template")["default"]?.string == fallback)
    let values = try node("$defs", "names")
    // One of them is event.id.
    #expect(values["maxProperties"] == .integer(Int64(EventDecoder.maximumFields - 1)))
    #expect(
      try node("$defs", "value")["maxLength"] == .integer(Int64(EventDecoder.maximumTextBytes)))
    let description = try #require(schema.object?["description"]?.string)
    #expect(description.contains("\(options.maximumEventBytes / 1024) KiB"))
    #expect(description.contains("at most \(EventDecoder.maximumFields - 1) values"))
  }

  @Test func examplesAreEvents() throws {
    let examples = try #require(schema.object?["examples"]?.array)
    #expect(examples.count == 2)
    for example in examples {
      #expect(decode(example).error == nil)
      #expect(checker.accepts(example))
    }
  }

  /// Each case where the schema can speak for itself: taken by both or refused by both.
  @Test func judgesAsTheDecoder() throws {
    let long = String(repeating: "a", count: 65)
    let ids: [JSONValue] = ["", "a", "a b", "é", "A.b_c:d-1", "a/b", "a\n", 5, nil, .string(long)]
    let keys: [JSONValue] = [
      "", "a b", "é", "{", "}", "a\u{7F}", "a\u{85}", "\u{1F}", "s:1:2", "s:1", "s:1:2:x", ":0:0",
      "a:b:1", 5, nil, .string(String(repeating: "a", count: 128)),
      .string(String(repeating: "a", count: 129)),
    ]
    let times: [JSONValue] = [
      "2026-11-21T08:00:00Z", "2026-11-21t08:00:00.123456789+00:00", "2026-11-21T08:00:00",
      "2026-13-21T08:00:00Z", "2026-11-32T08:00:00Z", "2026-11-21T24:00:00Z",
      "2026-11-21T08:60:00Z", "2026-11-21T08:00:60Z", "2026-11-21T08:00:00+24:00",
      "1969-11-21T08:00:00Z", "2026-11-21T08:00:00.1234567890Z", "2026-11-21 08:00:00Z", 5, "",
    ]
    let values: [JSONValue] = [
      "", "text", 1, 1.5, true, nil, [], [:], .string(String(repeating: "a", count: 1024)),
      .string(String(repeating: "a", count: 1025)),
    ]
    let names = ["a", "A-z_0", "a.b", "a b", "é", String(long.dropLast()), long]
    var cases: [JSONValue] = [nil, [], "x", [:]]
    for (paths, candidates) in [
      (["id", "app", "template"], ids + [.string(String(repeating: "a", count: 256))]),
      (["streamer.id", "stream.id"], keys), (["occurred_at"], times),
      (
        ["send_at"],
        times + [
          ["local": "2026-11-21T18:00"], ["local": "2026-11-21t18:00"], [:], ["local": 5],
          ["local": "2026-11-21T18:00:00Z"], ["local": "2026-11-21T18:00", "x": 1], nil, [],
          ["local": "2024-02-29T18:00"], ["local": "2000-02-29T18:00"],
          ["local": "2025-02-29T18:00"], ["local": "2025-02-30T18:00"],
          ["local": "2025-04-31T18:00"], ["local": "2025-00-01T18:00"],
        ]
      ),
      (["expires_in"], [0, 1, 2_592_000, 2_592_001, -1, "900", nil, 1.5]),
      (["stream.title", "data.x"], values), (["streamer", "stream", "data"], [nil, [], "x", [:]]),
      (["ttl", "ID"], [1]),
    ] as [([String], [JSONValue])] {
      for path in paths { for value in candidates { cases.append(try sample(path, value)) } }
    }
    for name in names where !name.contains(".") { cases.append(try sample("data.\(name)", "x")) }
    cases.append(try sample("data", ["a.b": "x"]))
    for member in EventDecoder.members { cases.append(try sample(member, nil)) }
    var accepted = 0
    for value in cases {
      let isTaken = decode(value).error == nil
      if isTaken { accepted += 1 }
      #expect(checker.accepts(value) == isTaken, "\(JSONText.compact(value).prefix(300))")
    }
    #expect(accepted > 20 && accepted < cases.count - 60)
  }
}
