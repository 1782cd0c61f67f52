import Ingest
import Terminal
import Testing

@testable import Emission

/// Which templates an event may name before it is sent.
@Suite struct KnownTemplatesTests {
  private static func events(_ template: String) throws -> [ReadEvent] {
    let text =
      #"{"id":"a","app":"com.example.live","streamer":{"id":"s42"},"stream":{"id":"b-1"},"#
      + #""occurred_at":"2026-11-21T08:00:00Z","expires_in":2592000,"template":"\#(template)"}"#
    return [
      try EventReader(options: IngestOptions(), now: 1_795_248_000_000).read(
        flags: Array(text.utf8))
    ]
  }

  private static func complaint(_ template: String, _ names: [String]?) throws -> String? {
    do {
      try KnownTemplates(directory: "t", names: names).check(try events(template))
      return nil
    } catch let failure as CommandFailure {
      #expect(failure.code == .failed)
      return failure.findings.first
    }
  }

  @Test func takesATemplateThatTheDirectoryHolds() throws {
    #expect(try Self.complaint("raid", ["go-live", "raid"]) == nil)
  }

  @Test func namesTheNearestOfThoseThatItHolds() throws {
    #expect(
      try Self.complaint("go-lvie", ["go-live", "raid"])
        == "templates.directory (t) holds no template go-lvie (did you mean go-live?)")
  }

  @Test func withoutTheDirectoryOnlyTheUsualOneIsTaken() throws {
    #expect(try Self.complaint("go-live", nil) == nil)
    #expect(try Self.complaint("raid", nil)?.contains("cannot be read") == true)
  }
}
