import Keyspace
import Record
import Redis
import Text

/// The workers' heartbeats, the statistics and Redis' memory. Confined to the loop of its client.
final class HealthReader {
  /// Workers whose heartbeats are read at one refresh: those that beat last.
  private static let mostWorkers = 200
  static let minutes = 60

  struct Worker: Equatable {
    let id: String
    /// By the worker's own clock, in ms since 1970.
    let beatAt: Int64
    /// Empty where Redis keeps it no longer.
    let fields: [String: String]

    func number(_ field: String) -> Int64? { fields[field].flatMap { StoredNumber.read($0) } }
    func text(_ field: String) -> String { fields[field] ?? "" }
    /// Of a field that is a list.
    func texts(_ field: String) -> [String] { text(field).split(separator: "; ").map(String.init) }

    /// It counts as dead.
    /// - Parameter now: ms since 1970.
    func isSilent(at now: Int64) -> Bool { now - beatAt > WorkerBeat.longestSilence(fields) }
  }

  struct Minute: Equatable {
    /// Its beginning, in ms since 1970.
    let at: Int64
    let accepted: Int
    let rejected: Int
    let deadLetters: Int
  }

  struct Health: Equatable {
    var workers: [Worker] = []
    /// The counters of the day, by name.
    var day: [String: String] = [:]
    /// The oldest first.
    var minutes: [Minute] = []
    /// How much of `maxmemory` is used, from 0 to 1; nil: there is no limit, or it is not known.
    var redisMemory: Double?
  }

  private let keyspace: Keyspace
  private(set) var health = Health()

  init(_ keyspace: Keyspace) { self.keyspace = keyspace }

  /// - Parameter now: ms since 1970.
  func refresh(_ questions: inout DashboardQuestions, now: Int64) async throws(RedisError) {
    let dayKey = keyspace.statsDay(milliseconds: now)
    let hashes = try await questions.hashes([keyspace.workers, dayKey])
    health.day = hashes[1] ?? [:]
    try await readWorkers(hashes[0] ?? [:], &questions)
    try await readMinutes(&questions, now: now)
    // Not each user may ask for it.
    health.redisMemory = try await questions.ask([["INFO", "memory"]])[0].text
      .flatMap { Self.memory($0) }
  }

  private func readWorkers(
    _ beats: [String: String], _ questions: inout DashboardQuestions
  ) async throws(RedisError) {
    let latest = beats.map { (id: $0.key, at: max(0, StoredNumber.read($0.value) ?? 0)) }
      .sorted { ($1.at, $0.id) < ($0.at, $1.id) }.prefix(Self.mostWorkers)
    let found = try await questions.hashes(latest.map { keyspace.worker(id: $0.id) })
    health.workers = zip(latest, found).map { worker, fields in
      Worker(id: worker.id, beatAt: worker.at, fields: fields ?? [:])
    }.sorted { $0.id < $1.id }
  }

  /// Minutes that are over do not change, but for counters that come late: the last three are read
  /// again.
  private func readMinutes(
    _ questions: inout DashboardQuestions, now: Int64
  ) async throws(RedisError) {
    let current = now - now % 60_000
    let wanted = (0..<Int64(Self.minutes)).map { current - (Int64(Self.minutes) - 1 - $0) * 60_000 }
    var known: [Int64: Minute] = [:]
    for minute in health.minutes { known[minute.at] = minute }
    let due = wanted.filter { known[$0] == nil || $0 > current - 3 * 60_000 }
    let replies = try await questions.ask(
      due.map {
        ["HMGET", keyspace.statsMinute(milliseconds: $0), "accepted", "rejected", "dead_letters"]
      })
    try DashboardQuestions.check(replies)
    for (index, at) in due.enumerated() {
      let counts = (0..<3).map { Int(clamping: replies[index][$0].decimal ?? 0) }
      known[at] = Minute(
        at: at, accepted: counts[0], rejected: counts[1], deadLetters: counts[2])
    }
    health.minutes = wanted.compactMap { known[$0] }
  }

  static func memory(_ report: String) -> Double? {
    var values: [Substring: Double] = [:]
    for line in report.split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { values[parts[0]] = Double(parts[1]) }
    }
    guard let used = values["used_memory"], let most = values["maxmemory"], most > 0 else {
      return nil
    }
    return used / most
  }
}
