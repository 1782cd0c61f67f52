import Ingest
import Kafka
import Model
import Testing

@testable import Pipeline

/// How long a record rests whose template is not loaded.
@Suite struct TemplateWaitsTests {
  private static let start: Int64 = 1_795_248_000_000

  private func message(_ offset: Int64) -> KafkaMessage {
    KafkaMessage(topic: "t", partition: 0, offset: offset, key: nil, value: [], headers: [])
  }

  private func event(expiresIn seconds: Int64) -> Event {
    Event(
      id: "e", app: "a", streamer: "s", stream: "b", template: "new", occurredAt: Self.start,
      expiresAt: Self.start + seconds * 1000, fields: [:], document: [])
  }

  private func isOver(_ receipt: Receipt) -> Bool {
    guard case .deadLetter(let error) = receipt else { return false }
    return error.code == .unknownTemplate
  }

  @Test func aRecordRestsOnceAndNoLongerThanItsEventLives() {
    let waits = TemplateWaits(limit: .seconds(60))
    let long = event(expiresIn: 900)
    #expect(
      waits.receipt(for: message(1), of: long, now: Self.start) == .again(after: .seconds(5)))
    #expect(
      waits.receipt(for: message(1), of: long, now: Self.start + 57_000)
        == .again(after: .seconds(3)))
    #expect(isOver(waits.receipt(for: message(1), of: long, now: Self.start + 60_000)))
    let short = event(expiresIn: 4)
    #expect(
      waits.receipt(for: message(2), of: short, now: Self.start) == .again(after: .seconds(4)))
    #expect(isOver(waits.receipt(for: message(2), of: short, now: Self.start + 4_000)))
  }

  @Test func aRecordWhoseTemplateWasLoadedRestsNoMore() {
    let waits = TemplateWaits(limit: .seconds(60))
    _ = waits.receipt(for: message(1), of: event(expiresIn: 900), now: Self.start)
    #expect(waits.rests(message(1)) && !waits.rests(message(2)))
    waits.end(message(1))
    #expect(!waits.rests(message(1)))
  }

  @Test func withoutAWaitItIsADeadLetterAtOnce() {
    let waits = TemplateWaits(limit: .zero)
    #expect(isOver(waits.receipt(for: message(1), of: event(expiresIn: 900), now: Self.start)))
  }

  /// A template that nobody has, of thousands of events.
  @Test func soManyRestAndNoMore() {
    let waits = TemplateWaits(limit: .seconds(60))
    let long = event(expiresIn: 900)
    for offset in 0..<Int64(TemplateWaits.maximum) {
      #expect(!isOver(waits.receipt(for: message(offset), of: long, now: Self.start)))
    }
    #expect(isOver(waits.receipt(for: message(1_000), of: long, now: Self.start)))
    #expect(!isOver(waits.receipt(for: message(0), of: long, now: Self.start + 1)))
    // Another worker has them by now.
    #expect(!isOver(waits.receipt(for: message(1_001), of: long, now: Self.start + 120_000)))
  }
}
