import Foundation
import Ingest
import Testing

@Suite struct EventSchemaFileTests {
  @Test func theFileIsWhatTheCodeSays() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Config/event.schema.json")
    #expect(try String(contentsOf: file, encoding: .utf8) == EventSchema.text)
  }
}
