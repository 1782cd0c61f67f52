import JSON
import Model
import Testing

@testable import Ingest

/// The record that says that a stream is over.
@Suite struct StreamEndTests {
  private static let text = """
    {"type":"stream.ended","streamer":{"id":"s42"},"stream":{"id":"b-991"},\
    "occurred_at":"2026-11-21T08:00:00Z"}
    """

  private func end(_ text: String) -> StreamEnd? {
    if case .ended(let end) = decode(text) { end } else { nil }
  }

  @Test func saysWhichStreamEndedAndWhen() throws {
    let expected = StreamEnd(streamer: "s42", stream: "b-991", occurredAt: sampleTime)
    #expect(end(Self.text) == expected)
    // The event's own document with another type.
    #expect(end(JSONText.compact(try sample("type", "stream.ended"))) == expected)
  }

  /// Redis' clock is asked, since a worker's may be behind.
  @Test func whatIsAheadIsTakenAsItIs() {
    let ahead = Self.text.replacing("08:00:00Z", with: "09:00:00Z")
    #expect(end(ahead)?.occurredAt == sampleTime + 3_600_000)
  }

  @Test func anEventSaysItsTypeOrNone() throws {
    #expect(decode(try sample("type", "stream.live")).event?.id == "live-8f2c")
    for type: JSONValue in ["stream.stopped", "", "STREAM.LIVE"] {
      #expect(decode(try sample("type", type)).error?.code == .badType)
    }
    #expect(decode(try sample("type", 1)).error?.code == .wrongType)
  }

  @Test(
    arguments: [
      ("\"streamer\":{\"id\":\"s42\"},", IngestError.Code.missingField),
      ("\"stream\":{\"id\":\"b-991\"},", .missingField),
      (",\"occurred_at\":\"2026-11-21T08:00:00Z\"", .missingField),
    ])
  func whatIsMissingIsSaid(part: String, code: IngestError.Code) {
    let text = Self.text
    #expect(text.contains(part))
    #expect(decode(text.replacing(part, with: "")).error?.code == code)
  }

  @Test func whatIsWrongIsSaid() {
    func code(_ part: String, _ other: String) -> IngestError.Code? {
      #expect(Self.text.contains(part))
      return decode(Self.text.replacing(part, with: other)).error?.code
    }
    #expect(code("\"s42\"", "\"s:1:2\"") == .badIdentifier)
    #expect(code("\"b-991\"", "\"a{b\"") == .badIdentifier)
    #expect(code("08:00:00Z", "8 o'clock") == .badTime)
    #expect(code("\"type\"", "\"x\":1,\"type\"") == .unknownField)
  }

  @Test func theKeyIsTheStreamers() {
    let bytes = Array(Self.text.utf8)
    #expect(decode(message(bytes, key: Array("s43".utf8))).error?.code == .keyMismatch)
    guard case .ended = decode(message(bytes, key: Array("s42".utf8))) else {
      Issue.record("the streamer's own key is refused")
      return
    }
  }
}
