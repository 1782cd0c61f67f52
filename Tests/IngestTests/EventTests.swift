import Ingest
import JSON
import Model
import Testing

/// What a good event becomes.
@Suite struct EventTests {
  @Test func everyMemberArrives() throws {
    let event = try #require(decode(sampleText).event)
    #expect(event.id == "live-8f2c")
    #expect(event.app == "com.example.live")
    #expect(event.streamer == "s42")
    #expect(event.stream == "b-991")
    #expect(event.template == "go-live")
    #expect(event.occurredAt == sampleTime)
    #expect(event.expiresAt == sampleTime + 900_000)
    #expect(event.document == Array(sampleText.utf8))
    #expect(
      event.fields == [
        "event.id": "live-8f2c", "streamer.id": "s42", "streamer.name": "Aiko",
        "stream.id": "b-991", "stream.title": "Speedrun night", "stream.category": "Games",
      ])
  }

  @Test func defaultsFillWhatIsLeftOut() throws {
    #expect(decode(try sample("template", nil)).event?.template == "go-live")
    let event = try #require(decode(try sample("expires_in", nil)).event)
    #expect(event.expiresAt - event.occurredAt == 900_000)
  }

  @Test func valuesOfEveryKindBecomeText() throws {
    let data: JSONValue = [
      "text": "a\u{1}\u{202E}\u{2028}\r\n👩‍👩‍👧", "whole": -7, "least": .integer(.min), "half": 0.5,
      "yes": true, "empty": "", "A-z_9": "name",
    ]
    let fields = try #require(decode(try sample("data", data)).event).fields
    #expect(fields["data.text"] == "a\u{1}\u{202E}\u{2028}\r\n👩‍👩‍👧")
    #expect(fields["data.whole"] == "-7")
    #expect(fields["data.least"] == "-9223372036854775808")
    #expect(fields["data.half"] == "0.5")
    #expect(fields["data.yes"] == "true")
    #expect(fields["data.empty"] == "")
    #expect(fields["data.A-z_9"] == "name")
  }

  @Test func boundsAreInside() throws {
    let good: [(String, JSONValue)] = [
      ("id", .string(String(repeating: "a", count: 64))), ("id", "A-Z.a_z:0-9"),
      ("app", .string(String(repeating: "a", count: 255))),
      ("template", .string(String(repeating: "a", count: 64))),
      ("streamer.id", .string(String(repeating: "é", count: 64))), ("streamer.id", "a:1"),
      ("streamer.id", "../%2f?x -\u{FFFD}"), ("stream.id", "b:1:2"),
      ("stream.title", .string(String(repeating: "a", count: 1024))),
      ("data." + String(repeating: "n", count: 64), ""), ("data", [:]),
      ("expires_in", 1), ("expires_in", 2_592_000),
      ("occurred_at", "2026-11-21T08:10:00Z"), ("occurred_at", "1970-01-01T00:00:00Z"),
    ]
    for (path, value) in good {
      #expect(decode(try sample(path, value)).error == nil, "\(path) \(value)")
    }
  }

  @Test func asManyValuesAsAllowed() throws {
    // Six stand in the sample already.
    for (count, isGood) in [(58, true), (59, false), (1000, false)] {
      let data = JSONObject((0..<count).map { ("v\($0)", JSONValue.integer(Int64($0))) })
      let result = decode(try sample("data", .object(data)))
      #expect(result.error?.code == (isGood ? nil : .tooManyFields), "\(count)")
    }
  }

  @Test func keyIsTheStreamerOrNone() {
    let value = Array(sampleText.utf8)
    #expect(decode(message(value, key: Array("s42".utf8))).event != nil)
    #expect(decode(message(value, key: [])).event != nil)
    for key in ["S42", "s4", "s42\0", "s42 ", "s43"].map({ Array($0.utf8) }) + [[0xFF]] {
      #expect(decode(message(value, key: key)).error?.code == .keyMismatch)
    }
    let large = [UInt8](repeating: 0x73, count: 1 << 20)
    #expect((decode(message(value, key: large)).error?.reason.utf8.count ?? 999) < 100)
  }

  @Test func keyIsComparedByBytes() throws {
    let composed = JSONText.compact(try sample("streamer.id", "caf\u{E9}"))
    let result = decode(message(Array(composed.utf8), key: Array("cafe\u{301}".utf8)))
    #expect(result.error?.code == .keyMismatch)
  }

  @Test func clockMayBeAheadABit() {
    let value = message(Array(sampleText.utf8))
    #expect(decode(value, now: sampleTime - 600_000).event != nil)
    guard case .early(let event, let error) = decode(value, now: sampleTime - 600_001) else {
      Issue.record("another clock is not asked")
      return
    }
    #expect(error.code == .occurredInFuture)
    let stage = IngestStage(options: IngestOptions())
    #expect(stage.isEarly(event, at: sampleTime - 600_001))
    #expect(!stage.isEarly(event, at: sampleTime - 600_000))
    #expect(decode(value, now: sampleTime + 100 * 365 * 86_400_000).event != nil)
  }

  @Test func expiryIsReached() throws {
    let event = try #require(decode(sampleText).event)
    #expect(!event.isExpired(at: sampleTime + 899_999))
    #expect(event.isExpired(at: sampleTime + 900_000))
  }

  @Test func whiteSpaceIsFree() {
    #expect(decode(" \r\n\t" + sampleText + "\n \t\r").event != nil)
  }

  @Test func largestEventIsTakenAndOneByteMoreIsNot() {
    let room = 64 * 1024 - sampleText.utf8.count
    let padded = sampleText + String(repeating: " ", count: room)
    #expect(decode(padded).event != nil)
    #expect(decode(padded + " ").error?.code == .tooLarge)
  }
}
