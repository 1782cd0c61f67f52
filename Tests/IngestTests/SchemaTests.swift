import Foundation
import Ingest
import Testing

/// The published schema and the decoder must say the same.
@Suite struct SchemaTests {
  private func schema() throws -> [String: Any] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let data = try Data(contentsOf: root.appending(path: "Config/event.schema.json"))
    return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  @Test func itsExamplesAreEvents() throws {
    let examples = try #require(schema()["examples"] as? [[String: Any]])
    #expect(examples.count >= 2)
    for example in examples {
      let bytes = try Array(JSONSerialization.data(withJSONObject: example))
      #expect(decode(bytes).error == nil, "\(example)")
    }
  }

  @Test func itKnowsTheMembersTheDecoderKnows() throws {
    let schema = try schema()
    let properties = try #require(schema["properties"] as? [String: Any])
    let required = try #require(schema["required"] as? [String])
    // Beside these the decoder refuses every name.
    for name in properties.keys {
      let error = decode(eventText([name: "[]"])).error
      #expect(error?.code == .wrongType, "\(name): \(String(describing: error))")
    }
    for name in properties.keys {
      let error = decode(eventText([name: nil])).error
      #expect(error?.code == (required.contains(name) ? .missingField : nil), "\(name)")
    }
    #expect(decode(eventText(["data": "{}"])).error == nil)
    let expiry = try #require(properties["expires_in"] as? [String: Any])
    #expect(expiry["maximum"] as? Int64 == IngestOptions().maximumExpirySeconds)
    #expect(expiry["default"] as? Int64 == IngestOptions().defaultExpirySeconds)
  }
}
