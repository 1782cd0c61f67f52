import Ingest
import Kafka
import Model
import Telemetry
import Text

/// The result of a replay of one letter, if it were made.
package enum LetterPreview: Sendable, Equatable {
  /// A worker of this version would take the record. In words: which kind of record it is.
  case fits(String)
  /// Its event is over; at that time, in ms since 1970.
  case expired(Int64)
  /// A worker would refuse it again, or nothing is known to send. In words.
  case refused(String)

  package var fits: Bool { if case .fits = self { true } else { false } }

  package var why: String {
    switch self {
    case .fits(let what): what
    case .expired(let at): "its event expired at \(WallClock.rfc3339(at))"
    case .refused(let why): why
    }
  }
}

/// Says by today's rules what would become of a dead letter, and makes the record that repeats it.
package struct LetterJudge: Sendable {
  private let options: IngestOptions
  private let ingest: IngestStage
  private let templateProblem: @Sendable (String) -> String?

  /// - Parameter templateProblem: why workers have no such template; nil where they have it, or
  ///   where nobody knows.
  package init(
    _ options: IngestOptions,
    templateProblem: @escaping @Sendable (_ template: String) -> String? = { _ in nil }
  ) {
    self.options = options
    ingest = IngestStage(options: options)
    self.templateProblem = templateProblem
  }

  /// The record that repeats the letter: to the topic from which it came, with its own key and
  /// bytes, and with those of its headers that are of use there.
  ///
  /// - Parameters:
  ///   - body: to be sent instead of the letter's own: a plain event, or an envelope of JSON.
  ///   - now: ms since 1970.
  /// - Returns: nil for the record where there is nothing to send.
  package func judge(
    _ letter: KafkaMessage, body: [UInt8]? = nil, now: Int64
  ) -> (preview: LetterPreview, record: LetterCopy?) {
    let summary = LetterSummary(letter)
    guard !summary.topic.isEmpty else {
      return (.refused("it has no header fanfare-source: no worker wrote it"), nil)
    }
    guard topics.contains(where: { $0.isExactly(summary.topic) }) else {
      return (.refused("it came from \(summary.topic), which is no topic of the settings"), nil)
    }
    guard !summary.isAbridged || body != nil else {
      return (
        .refused("it was too large to be kept whole: the record is at \(summary.source)"), nil
      )
    }
    var record = LetterCopy(
      topic: summary.topic, key: letter.key, value: body ?? letter.value,
      headers: headers(of: letter, isCorrected: body != nil, now: now))
    if body != nil { correctKey(of: &record, now: now) }
    let released = ReleaseRecord.source(of: letter) == nil ? nil : summary.event
    return (preview(of: record, released: released, now: now), record)
  }

  private var topics: [String] {
    [options.eventsTopic, options.segmentsTopic, options.bulkTopic, options.stragglersTopic]
  }

  private func decoded(_ record: LetterCopy, now: Int64) -> IngestResult {
    ingest.decode(
      KafkaMessage(
        topic: record.topic, partition: 0, offset: 0, key: record.key, value: record.value,
        headers: record.headers), now: now)
  }

  /// - Parameter released: the event whose release the letter is.
  private func preview(
    of record: LetterCopy, released: String?, now: Int64
  ) -> LetterPreview {
    let (event, what): (Event, String)
    switch decoded(record, now: now) {
    case .event(let found): (event, what) = (found, Self.words(of: found, released, now))
    case .segment(let found): (event, what) = (found.event, "a segment of event \(found.event.id)")
    case .plan(let found): (event, what) = (found.event, "a plan of event \(found.event.id)")
    case .ended(let end): return .fits("the end of stream \(end.stream)")
    case .early(_, let error), .malformed(let error): return .refused("\(error)")
    }
    if event.isExpired(at: now) { return .expired(event.expiresAt) }
    if let problem = templateProblem(event.template) { return .refused(problem) }
    return .fits(what)
  }

  private static func words(of event: Event, _ released: String?, _ now: Int64) -> String {
    guard let sendAt = event.sendAt, sendAt.due.lowerBound > now else { return "event \(event.id)" }
    // Workers go by the time that Redis has, and that has come.
    if let released, released.isExactly(event.id) {
      return "event \(event.id), which is sent at once unless it was rescheduled: a new send_at "
        + "counts for nothing here"
    }
    return "event \(event.id), which waits for its send_at, \(sendAt.text)"
  }

  /// A corrected event may be of another streamer, and then belongs to another partition.
  private func correctKey(of record: inout LetterCopy, now: Int64) {
    guard record.topic.isExactly(options.eventsTopic) else { return }
    let own = record.key
    record.key = nil
    switch decoded(record, now: now) {
    case .event(let event), .early(let event, _): record.key = Array(event.streamer.utf8)
    case .ended(let end): record.key = Array(end.streamer.utf8)
    case .segment, .plan, .malformed: record.key = own
    }
  }

  // MARK: headers

  /// Attributes of CloudEvents, which are a part of the event; the trace, and when the event was
  /// written; `fanfare-source`, by which a worker goes on with the record that failed and does not
  /// send twice; the same of a scheduled event that was released; and the label of stragglers.
  private static let kept = [
    "fanfare-source", ReleaseRecord.header, "content-type", "traceparent", "tracestate",
    EventOrigin.appendedHeader, "fanfare-route", "fanfare-refused", "fanfare-not-before",
    "fanfare-ask-again", "fanfare-written", "fanfare-expires",
  ]
  /// The facts that a body in a file has by itself.
  private static let ofTheBody = ["content-type"]
  package static let replayedHeader = "fanfare-replayed"

  private func headers(
    of letter: KafkaMessage, isCorrected: Bool, now: Int64
  ) -> [KafkaHeader] {
    let kept = letter.headers.filter { header in
      let isOfTheBody =
        header.name.prefix(3).lowercased() == "ce_" || Self.ofTheBody.contains(header.name)
      if isOfTheBody { return !isCorrected }
      return Self.kept.contains(header.name)
    }
    let id = LetterID(partition: letter.partition, offset: letter.offset)
    return kept + [KafkaHeader(Self.replayedHeader, "\(id) \(WallClock.rfc3339(now))")]
  }
}

/// A record as it is sent in again.
package struct LetterCopy: Sendable, Equatable {
  package let topic: String
  package fileprivate(set) var key: [UInt8]?
  package let value: [UInt8]?
  package let headers: [KafkaHeader]
}
