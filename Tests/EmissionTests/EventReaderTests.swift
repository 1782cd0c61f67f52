import Ingest
import Processes
import Terminal
import Testing

@testable import Emission

/// Events as `emit` and `render` read them.
@Suite struct EventReaderTests {
  private let reader = EventReader(options: IngestOptions(), now: 1_795_248_000_000)

  private static func event(_ id: String, app: String = "com.example.live") -> String {
    #"{"id":"\#(id)","app":"\#(app)","streamer":{"id":"s42"},"stream":{"id":"b-1"},"#
      + #""occurred_at":"2026-11-21T08:00:00Z","expires_in":2592000}"#
  }

  private func read(_ text: String) throws -> [ReadEvent] {
    let directory = try ScratchDirectory("event-reader")
    return try reader.read(file: try directory.write(text, to: "events.ndjson"))
  }

  private func failure(_ text: String) throws -> CommandFailure {
    try #require(throws: CommandFailure.self) { _ = try read(text) }
  }

  @Test func readsOneEventALine() throws {
    let events = try read("\(Self.event("a"))\n\n\(Self.event("b"))\n")
    #expect(events.map(\.name) == ["a", "b"])
    #expect(events.map(\.streamer) == ["s42", "s42"])
    #expect(events[1].document == Array(Self.event("b").utf8))
  }

  @Test func readsOneEventOverSeveralLines() throws {
    let text = Self.event("a").replacing(",", with: ",\n ")
    #expect(try read(text).map(\.name) == ["a"])
  }

  @Test func namesEachLineThatIsWrong() throws {
    let failure = try failure("\(Self.event("a"))\n{\n\(Self.event("b", app: "a b"))\n")
    #expect(failure.code == .failed)
    #expect(failure.message == "nothing was sent: 2 of 3 events are wrong")
    #expect(failure.findings.count == 2)
    #expect(failure.findings[0].contains("events.ndjson:2: "))
    #expect(failure.findings[1].contains("events.ndjson:3: "))
  }

  @Test func aFileWithOneMistakeInEveryLineIsToldInAScreenful() throws {
    let failure = try failure(String(repeating: "{}\n", count: 50))
    #expect(failure.findings.count == 21)
    #expect(failure.findings.last == "… and 30 more")
  }

  @Test(arguments: ["", "\n \n"])
  func aFileWithoutAnEventIsAMistake(text: String) throws {
    #expect(try failure(text).message.hasSuffix(" holds no event"))
  }

  @Test func aLineThatIsTooLongIsNamed() throws {
    let long = String(repeating: " ", count: IngestOptions().maximumEventBytes + 1)
    let failure = try failure("\(Self.event("a"))\n\(long)\n")
    #expect(failure.findings.first?.hasSuffix(":2: longer than an event may be") == true)
  }

  @Test func flagsThatMakeNoEventAreAMistakeOfTheCommandLine() throws {
    let failure = #expect(throws: CommandFailure.self) {
      _ = try reader.read(flags: Array(Self.event("a", app: "a b").utf8))
    }
    #expect(failure?.code == .usage)
  }
}
