import Foundation
import Ingest
import Testing

@Suite struct EventSchemaFileTests {
  /// `UPDATE_SCHEMA=1` writes it.
  @Test func theFileIsWhatTheCodeSays() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Config/event.schema.json")
    if ProcessInfo.processInfo.environment["UPDATE_SCHEMA"] != nil {
      try EventSchema.text.write(to: file, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == EventSchema.text)
  }
}
