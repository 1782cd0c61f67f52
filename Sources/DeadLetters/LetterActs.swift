import Kafka
import Redis

package enum LetterAct: String, Sendable {
  case replay, drop

  fileprivate var state: LetterState {
    switch self {
    case .replay: .replayed
    case .drop: .dropped
    }
  }
}

/// The result of a replay or a drop, real or dry.
package struct LetterActReport: Sendable, Equatable {
  /// Letters that were looked at, with those that are not in Kafka.
  package var seen = 0
  /// Those that the act is for, or was.
  package var fits = 0
  package var expired = 0
  /// Replayed or dropped before.
  package var already = 0
  /// A worker would refuse them again, Kafka did not take them, or Kafka has no such letter.
  package var refused = 0
  package var replayed = 0
  package var dropped = 0
  /// The act was stopped before it came to the rest.
  package var isStopped = false
  /// Why letters were passed over, with their number; those that are most frequent at first. At
  /// most `maximumReasons`, and a letter as an example of each.
  package private(set) var reasons: [(why: String, count: Int, example: LetterID)] = []

  package static let maximumReasons = 20

  package init() {}

  package static func == (left: LetterActReport, right: LetterActReport) -> Bool {
    left.counts == right.counts && left.isStopped == right.isStopped
  }

  private var counts: [Int] { [seen, fits, expired, already, refused, replayed, dropped] }

  /// Letters that were looked at and left as they are.
  package var skipped: Int { seen - replayed - dropped }

  mutating func pass(over id: LetterID, _ why: String) {
    // Words of each letter differ in the event's id and in places.
    if let index = reasons.firstIndex(where: { $0.why == why }) {
      reasons[index].count += 1
    } else if reasons.count < Self.maximumReasons {
      reasons.append((why, 1, id))
    }
  }
}

/// Replays and drops dead letters. Confined to the loop of its Redis client.
///
/// A letter is noted as replayed once Kafka has its record. A crash in between, or a second replay
/// at the same time, writes the record again: its `fanfare-source` tells workers that it is the
/// same, and nothing is sent twice.
package struct LetterActs {
  /// Writes a record; returns when every replica in sync has it.
  package typealias Send = @Sendable (LetterCopy) async throws(KafkaError) -> Void

  /// Letters that are read at a time.
  private static let batch = 500
  /// Records on their way to Kafka.
  private static let atOnce = 64

  private let topic: LetterTopic
  private let judge: LetterJudge
  private let marks: LetterMarks
  private let now: () -> Int64
  private let send: Send

  /// - Parameter now: ms since 1970.
  package init(
    _ topic: LetterTopic, judge: LetterJudge, marks: LetterMarks, now: @escaping () -> Int64,
    send: @escaping Send
  ) {
    self.topic = topic
    self.judge = judge
    self.marks = marks
    self.now = now
    self.send = send
  }

  /// - Parameters:
  ///   - isDry: nothing is written.
  ///   - repeats: those that were replayed or dropped before, too.
  ///   - goOn: is told what has been done so far, now and then; false ends the act.
  package func run(
    _ act: LetterAct, _ ids: [LetterID], isDry: Bool, repeats: Bool = false,
    goOn: (LetterActReport) -> Bool = { _ in true }
  ) async throws(DeadLettersError) -> LetterActReport {
    var report = LetterActReport()
    var rest = Array(Set(ids)).sorted()[...]
    while !rest.isEmpty {
      guard goOn(report) else {
        report.isStopped = true
        return report
      }
      let asked = Array(rest.prefix(Self.batch))
      let (records, count) = try await read(asked)
      try await run(act, records, isDry, repeats, &report)
      let found = Set(records.map { LetterSummary($0).id })
      for id in asked.prefix(count) where !found.contains(id) {
        report.refused += 1
        report.pass(over: id, "Kafka has no such letter, or no longer")
      }
      report.seen += count
      rest = rest.dropFirst(count)
    }
    _ = goOn(report)
    return report
  }

  /// Sends another body instead of the letter's own.
  /// - Parameter repeats: also of a letter that was replayed or dropped before.
  /// - Returns: the preview of the corrected record; it was sent if that fits and `isDry` is false.
  ///   Nil: Kafka has no such letter.
  package func correct(
    _ id: LetterID, body: [UInt8], isDry: Bool, repeats: Bool
  ) async throws(DeadLettersError) -> (letter: KafkaMessage, preview: LetterPreview)? {
    guard let letter = try await read([id]).records.first else { return nil }
    if !isDry, !repeats, let mark = try await knownMarks(of: [letter])[LetterSummary(letter).id] {
      return (letter, .refused("it was \(mark.state.rawValue) before"))
    }
    let (preview, record) = judge.judge(letter, body: body, now: now())
    guard !isDry, preview.fits, let record else { return (letter, preview) }
    do throws(KafkaError) {
      try await send(record)
    } catch {
      throw .kafka(error)
    }
    try await note(.replayed, [LetterSummary(letter)])
    return (letter, preview)
  }

  private func read(
    _ ids: [LetterID]
  ) async throws(DeadLettersError) -> (records: [KafkaMessage], of: Int) {
    do throws(KafkaError) {
      return try await topic.records(ids)
    } catch {
      throw .kafka(error)
    }
  }

  private func run(
    _ act: LetterAct, _ records: [KafkaMessage], _ isDry: Bool, _ repeats: Bool,
    _ report: inout LetterActReport
  ) async throws(DeadLettersError) {
    let known = try await knownMarks(of: records)
    var chosen: [(letter: LetterSummary, record: LetterCopy?)] = []
    for record in records {
      let letter = LetterSummary(record)
      if let mark = known[letter.id], !repeats || (act == .drop && mark.state == .dropped) {
        report.already += 1
        report.pass(over: letter.id, "it was \(mark.state.rawValue) before")
        continue
      }
      guard act == .replay else {
        chosen.append((letter, nil))
        continue
      }
      let (preview, copy) = judge.judge(record, now: now())
      switch preview {
      case .fits: chosen.append((letter, copy))
      case .expired:
        report.expired += 1
        report.pass(over: letter.id, "its event has expired")
      case .refused(let why):
        report.refused += 1
        report.pass(over: letter.id, why)
      }
    }
    report.fits += chosen.count
    if !isDry { try await perform(act, chosen, &report) }
  }

  private func perform(
    _ act: LetterAct, _ chosen: [(letter: LetterSummary, record: LetterCopy?)],
    _ report: inout LetterActReport
  ) async throws(DeadLettersError) {
    var rest = chosen[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Self.atOnce))
      rest = rest.dropFirst(part.count)
      let failures = await write(part.map(\.record))
      let done = part.indices.filter { failures[$0] == nil }.map { part[$0].letter }
      if !done.isEmpty { try await note(act.state, done) }
      switch act {
      case .replay: report.replayed += done.count
      case .drop: report.dropped += done.count
      }
      for (index, error) in failures.sorted(by: { $0.key < $1.key }) {
        // A record of another size may be taken; all else concerns the rest, too.
        guard error.code == .tooLarge else { throw .kafka(error) }
        report.fits -= 1
        report.refused += 1
        report.pass(over: part[index].letter.id, "Kafka takes no record of this size")
      }
    }
  }

  /// Returns the errors by index.
  private func write(_ records: [LetterCopy?]) async -> [Int: KafkaError] {
    let send = send
    return await withTaskGroup(of: (Int, KafkaError?).self) { group in
      for (index, record) in records.enumerated() {
        guard let record else { continue }
        group.addTask {
          do throws(KafkaError) {
            try await send(record)
            return (index, nil)
          } catch {
            return (index, error)
          }
        }
      }
      var failures: [Int: KafkaError] = [:]
      for await (index, error) in group { failures[index] = error }
      return failures
    }
  }

  private func knownMarks(
    of records: [KafkaMessage]
  ) async throws(DeadLettersError) -> [LetterID: LetterMark] {
    do throws(RedisError) {
      return try await marks.marks(of: records.map { LetterSummary($0) })
    } catch {
      throw .redis(error)
    }
  }

  private func note(
    _ state: LetterState, _ letters: [LetterSummary]
  ) async throws(DeadLettersError) {
    do throws(RedisError) {
      try await marks.set(state, of: letters, now: now())
    } catch {
      throw .redis(error)
    }
  }
}
