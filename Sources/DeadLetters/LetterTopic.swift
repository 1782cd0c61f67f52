import Kafka
import Telemetry

/// Reads the topic of dead letters, within bounds. Every call has a client of its own, which is in
/// no group, and waits on a thread of its own.
package struct LetterTopic: Sendable {
  package struct Limits: Sendable, Equatable {
    /// Letters of one scan, the newest of all partitions.
    package var letters = 10_000
    /// A scan begins no further part once it has read so much.
    package var bytes = 64 << 20
    /// For a scan, or for the records of one part of a replay.
    package var time: Duration = .seconds(10)

    package init() {}
  }

  /// Letters of one read: a scan goes backwards in such parts.
  private static let part: Int64 = 1_000
  /// Records with smaller gaps between them are read in one go.
  private static let gap: Int64 = 2_000
  /// Of the records that are held at a time.
  private static let recordBytes = 16 << 20

  private let options: KafkaOptions
  package let name: String
  private let limits: Limits
  private let log: KafkaLog

  package init(
    _ options: KafkaOptions, name: String, limits: Limits = Limits(), log: @escaping KafkaLog
  ) {
    self.options = options
    self.name = name
    self.limits = limits
    self.log = log
  }

  /// The newest letters, as many as the limits allow. Throws where not even the newest part can be
  /// read in time.
  package func scan() async throws(KafkaError) -> LetterScan {
    try await BlockingCall.run { () throws(KafkaError) in try readNewest() }
  }

  private func readNewest() throws(KafkaError) -> LetterScan {
    let deadline = ContinuousClock.now + limits.time
    let reader = try KafkaReader(options, topic: name, log: log)
    let bounds = try reader.bounds(timeout: limits.time)
    var scan = LetterScan(held: bounds.values.reduce(0) { $0 + Int64($1.count) })
    var rest = bounds.filter { !$0.value.isEmpty }.map { ($0.key, $0.value) }
      .sorted { $0.0 < $1.0 }
    var bytes = 0
    scan: while !rest.isEmpty {
      for index in rest.indices.reversed() {
        let (partition, range) = rest[index]
        let wanted = Int64(limits.letters - scan.letters.count)
        guard wanted > 0, bytes < limits.bytes else { break scan }
        let start = max(range.lowerBound, range.upperBound - min(Self.part, wanted))
        var letters: [LetterSummary] = []
        let isWhole = try reader.read(partition, start..<range.upperBound, until: deadline) {
          letters.append(LetterSummary($0))
          bytes += $0.valueBytes
          return true
        }
        guard isWhole else {
          // The newest of this part are missing: what was read of it would be an older window.
          guard !scan.letters.isEmpty else { throw Self.timedOut }
          scan.isOutOfTime = true
          break scan
        }
        scan.letters += letters
        if start > range.lowerBound {
          scan.oldestOfUnread[partition] = letters.map(\.writtenAt).min()
          rest[index].1 = range.lowerBound..<start
        } else {
          scan.oldestOfUnread[partition] = nil
          rest.remove(at: index)
        }
      }
    }
    scan.isWhole = rest.isEmpty
    scan.letters.sort { ($0.writtenAt, $0.id) > ($1.writtenAt, $1.id) }
    return scan
  }

  private static let timedOut = KafkaError(
    code: .timedOut, message: "reading the dead letters: no answer in time; Kafka is slow or away")

  /// The records of the letters, in their order. Those that Kafka no longer has are missing.
  ///
  /// - Parameter ids: sorted.
  /// - Returns: the records, and of how many of the ids, from the first: fewer than given where the
  ///   records take more than 16 MiB or too long. At least one.
  package func records(
    _ ids: [LetterID]
  ) async throws(KafkaError) -> (records: [KafkaMessage], of: Int) {
    try await BlockingCall.run { () throws(KafkaError) in try read(ids) }
  }

  private func read(_ ids: [LetterID]) throws(KafkaError) -> (records: [KafkaMessage], of: Int) {
    let deadline = ContinuousClock.now + limits.time
    let reader = try KafkaReader(options, topic: name, log: log)
    let bounds = try reader.bounds(timeout: limits.time)
    var records: [KafkaMessage] = []
    var bytes = 0
    var done = 0
    for run in Self.runs(of: ids) {
      let (first, last) = (ids[run.lowerBound], ids[run.upperBound - 1])
      let held = bounds[first.partition] ?? 0..<0
      var wanted = ids[run]
      let range = (first.offset..<last.offset + 1).clamped(to: held)
      let isWhole = try reader.read(first.partition, range, until: deadline) { record in
        while let next = wanted.first, next.offset < record.offset { wanted.removeFirst() }
        guard wanted.first?.offset == record.offset else { return true }
        wanted.removeFirst()
        records.append(record)
        bytes += record.valueBytes
        return bytes < Self.recordBytes
      }
      guard isWhole else {
        done = wanted.startIndex
        break
      }
      done = run.upperBound
      if bytes >= Self.recordBytes { break }
    }
    guard done > 0 else { throw Self.timedOut }
    return (records, done)
  }

  /// Indices of letters of one partition that are near each other.
  private static func runs(of ids: [LetterID]) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    for index in ids.indices {
      let before = index > 0 ? ids[index - 1] : nil
      if let before, let run = runs.last, before.partition == ids[index].partition,
        ids[index].offset - before.offset <= gap
      {
        runs[runs.count - 1] = run.lowerBound..<index + 1
      } else {
        runs.append(index..<index + 1)
      }
    }
    return runs
  }
}

/// The newest dead letters as they were at one time.
package struct LetterScan: Sendable {
  /// The newest first.
  package fileprivate(set) var letters: [LetterSummary] = []
  /// Letters that Kafka keeps. An upper bound: some offsets may have no record.
  package let held: Int64
  fileprivate(set) var isWhole = false
  fileprivate var isOutOfTime = false
  /// By partition that was not read whole: when the oldest letter was written that was read of it.
  fileprivate var oldestOfUnread: [Int32: Int64] = [:]

  init(held: Int64) { self.held = held }

  /// No letter that was written since then, in ms since 1970, is missing; nil: none is missing.
  package var since: Int64? { isWhole ? nil : oldestOfUnread.values.max() }

  /// Which letters every number about this scan is of, in words.
  package var window: String {
    guard let since else { return "all \(letters.count) letters that Kafka keeps" }
    return "the newest \(letters.count) of \(held) letters, since \(WallClock.rfc3339(since))"
      + (isOutOfTime ? "; Kafka is slow: reading took too long to go on" : "")
  }
}
