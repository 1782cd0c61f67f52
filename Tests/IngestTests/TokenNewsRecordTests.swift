import Checkout
import Ingest
import JSON
import Model
import Testing

@Suite struct TokenNewsRecordTests {
  private static let binding = Binding(
    destination: .sandbox, topic: "com.example.live", token: "aabb")

  private static func all() throws -> [TokenNews] {
    let binding = try #require(binding)
    return [
      TokenNews(
        .pruned(since: 5), user: "u\"1", binding, reason: "Unregistered", event: "e1", at: 7),
      TokenNews(.quarantined, user: "u1", binding, reason: "BadDeviceToken", event: "e1", at: 7),
      TokenNews(.moved(to: "u2"), user: "u1", binding, at: 7),
      TokenNews(.restored, user: "u1", binding, reason: "BadDeviceToken", at: 7),
    ]
  }

  private static func schema() throws -> JSONObject {
    let text = try Checkout.text("Config/token-news.schema.json")
    let value = try JSONValue.parse(Array(text.utf8), maximumDepth: 16)
    return try #require(value.object)
  }

  @Test func aRecordSaysAllThatIsKnown() throws {
    let (key, value) = TokenNewsRecord.encode(try Self.all()[0])
    #expect(String(decoding: key, as: UTF8.self) == "u\"1")
    let text = String(decoding: value, as: UTF8.self)
    #expect(
      text == #"{"type":"token.pruned","user":"u\"1","gone_since_ms":5,"platform":"apns","#
        + #""environment":"sandbox","topic":"com.example.live","token":"aabb","#
        + #""reason":"Unregistered","event":"e1","at_ms":7}"#)
  }

  /// Every member of every record is in the schema, with what it demands, and nothing that it
  /// forbids; and every type of the schema is one of ours.
  @Test func recordsAreAsTheSchemaSays() throws {
    let schema = try Self.schema()
    let known = Set(try #require(schema["properties"]?.object).members.map(\.name))
    let required = try #require(schema["required"]?.array).compactMap(\.string)
    let kinds = try #require(schema["oneOf"]?.array).compactMap(\.object)
    var types: [JSONValue] = []
    for news in try Self.all() {
      let record = try #require(
        try JSONValue.parse(TokenNewsRecord.encode(news).value).object)
      let names = Set(record.members.map(\.name))
      #expect(names.isSubset(of: known) && names.isSuperset(of: required))
      let type = try #require(record["type"])
      types.append(type)
      let kind = try #require(
        kinds.first { $0["properties"]?.object?["type"]?.object?["const"] == type })
      #expect(names.isSuperset(of: kind["required"]?.array?.compactMap(\.string) ?? []))
      for member in kind["properties"]?.object?.members ?? [] where member.value == .bool(false) {
        #expect(!names.contains(member.name), "\(type) has \(member.name)")
      }
    }
    #expect(schema["properties"]?.object?["type"]?.object?["enum"] == .array(types))
    #expect(kinds.count == types.count)
  }
}
