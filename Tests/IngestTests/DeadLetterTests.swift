import Checkout
import Foundation
import Ingest
import Kafka
import Testing

@Suite struct DeadLetterTests {
  private let error = IngestError(.badTime, "occurred_at is missing a Z")

  private func letter(_ headers: [KafkaHeader], key: [UInt8]?, value: [UInt8]?) -> DeadLetter {
    DeadLetter(
      message(value, key: key, headers: headers), error: error, worker: "w1",
      time: "2026-11-21T08:00:00.000Z")
  }

  private func own() -> [KafkaHeader] {
    [
      KafkaHeader("fanfare-error-code", "bad_time"),
      KafkaHeader("fanfare-error-reason", "occurred_at is missing a Z"),
      KafkaHeader("fanfare-source", "notify-followers/3/17"),
      KafkaHeader("fanfare-failed-at", "2026-11-21T08:00:00.000Z"),
      KafkaHeader("fanfare-worker", "w1"),
    ]
  }

  @Test func keyAndValueAreUntouched() {
    let raw: [UInt8] = [0, 0xFF, 0x0A, 0x7B]
    #expect(letter([], key: raw, value: raw) == letter([], key: raw, value: raw))
    let letter = letter([], key: raw, value: raw)
    #expect(letter.key == raw)
    #expect(letter.value == raw)
    let tombstone = self.letter([], key: nil, value: nil)
    #expect(tombstone.key == nil)
    #expect(tombstone.value == nil)
  }

  @Test func headersSayWhyWhereWhenAndWho() {
    #expect(letter([], key: nil, value: []).headers == own())
  }

  @Test func headersOfTheRecordComeFirst() {
    let headers = [KafkaHeader("trace", "a"), KafkaHeader(name: "trace", value: nil)]
    #expect(letter(headers, key: nil, value: []).headers == headers + own())
  }

  @Test func aThousandHeadersAreCut() {
    let headers = (0..<1000).map { KafkaHeader("h\($0)", "") }
    #expect(letter(headers, key: nil, value: []).headers == Array(headers.prefix(64)) + own())
  }

  @Test func headersOfAnEarlierTryGiveWay() {
    let stale = [
      KafkaHeader("fanfare-error-code", "not_json"), KafkaHeader("trace", "a"),
      KafkaHeader("fanfare-worker", "w0"),
    ]
    #expect(
      letter(stale, key: nil, value: []).headers == [KafkaHeader("trace", "a")] + own())
  }

  @Test func anAbridgedOneSaysHowLargeTheRecordIs() {
    let large = [UInt8](repeating: 0, count: 1 << 20)
    let trace = KafkaHeader(name: "trace", value: large)
    let abridged = letter([trace], key: large, value: large + large).abridged()
    #expect(abridged.key == nil)
    #expect(abridged.value == nil)
    let sizes = [
      KafkaHeader("fanfare-key-bytes", "1048576"), KafkaHeader("fanfare-value-bytes", "2097152"),
    ]
    #expect(abridged.headers == own() + sizes)
  }

  /// Tools and alerts look for them.
  @Test func codesAreStable() {
    #expect(
      IngestError.Code.allCases.map(\.rawValue) == [
        "tombstone", "too_large", "not_json", "duplicate_key", "missing_field", "unknown_field",
        "wrong_type", "bad_identifier", "bad_text", "bad_type", "bad_time", "occurred_in_future",
        "bad_expiry", "bad_rate", "bad_audience", "too_many_fields", "key_mismatch", "bad_segment",
        "unknown_template",
        "unprocessable",
      ])
    #expect("\(error)" == "bad_time: occurred_at is missing a Z")
  }
}

/// docs/events.md is where people look a code up.
@Suite struct DeadLetterPageTests {
  @Test func everyCodeIsExplained() throws {
    let page = try Checkout.text("docs/events.md")
    for code in IngestError.Code.allCases {
      #expect(page.contains("`\(code.rawValue)`"), "\(code.rawValue) is not in docs/events.md")
    }
  }
}
