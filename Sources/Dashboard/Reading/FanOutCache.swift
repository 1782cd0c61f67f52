import Keyspace
import Record
import Redis
import Text

/// Fan-outs as Redis had them when they were read last. Those that go on are read at each refresh,
/// those that have ended now and then, so that a refresh costs a bounded number of commands however
/// many there are. Confined to the loop of its client.
final class FanOutCache {
  /// As many are listed; what the page says of it.
  static let maximum = 1_000
  static let window = "the newest 1,000 fan-outs of 7 days"
  /// Waiting for their time; of more, those that are due next are listed.
  private static let mostScheduled = 100
  /// Going on, and read at one refresh; where there are more, they take turns.
  private static let mostRunning = 150
  /// Ended, and read at one refresh: a thousand take turns within half a minute.
  private static let mostEnded = 40
  /// Titles that are read at one refresh: each event's document once, of at most 1 MiB.
  private static let mostTitles = 20
  /// Those that have ended change only if an operator sends dead letters in again.
  private static let endedInterval: Int64 = 10_000
  /// Now and then the list is read as a whole: somebody may have emptied Redis.
  private static let listInterval: Int64 = 60_000

  /// Segments settle with thousands of pushes at once: a shorter time says little.
  static let noRate = CounterRate(leastMilliseconds: 2_000)

  struct Known {
    let event: String
    /// Nil until it is read; stays nil where there is no such hash.
    var status: FanOutStatus?
    /// Ms since 1970.
    var readAt: Int64 = .min
    var rate = FanOutCache.noRate
    /// Nil until its document is read; stays nil where that is not kept, or we may not read it.
    var title: String?
    var isTitleRead = false

    var goesOn: Bool { status.map { !$0.hasEnded } ?? false }
  }

  private let keyspace: Keyspace
  /// The newest first.
  private(set) var all: [Known] = []
  /// The id of the newest entry of the list that was read.
  private var newestEntry: String?
  private var listedAt: Int64 = .min

  init(_ keyspace: Keyspace) { self.keyspace = keyspace }

  /// - Parameter now: ms since 1970.
  func refresh(
    _ questions: inout DashboardQuestions, now: Int64
  ) async throws(RedisError) {
    try await list(&questions, now: now)
    let due = due(now: now)
    let found = try await questions.hashes(due.map { keyspace.event(id: all[$0].event) })
    for (index, fields) in zip(due, found) {
      all[index].readAt = now
      all[index].status = fields.map { FanOutStatus(fields: $0) }
      if let status = all[index].status { all[index].rate.add(status.progress.done, at: now) }
    }
    try await readTitles(&questions)
  }

  /// Those that go on come first, then the newest. An event's title never changes.
  private func readTitles(_ questions: inout DashboardQuestions) async throws(RedisError) {
    let missing = all.indices.filter { !all[$0].isTitleRead && all[$0].status != nil }
    let due = (missing.filter { all[$0].goesOn } + missing.filter { !all[$0].goesOn })
      .prefix(Self.mostTitles)
    guard !due.isEmpty else { return }
    let replies: RedisReplies
    do throws(RedisError) {
      replies = try await questions.ask(
        due.map { ["GET", keyspace.document(event: all[$0].event)] })
    } catch {
      // Somebody else has written something huge: it would be in the way each time.
      if error.code == .replyTooLarge { for index in due { all[index].isTitleRead = true } }
      throw error
    }
    for (position, index) in due.enumerated() {
      all[index].isTitleRead = true
      all[index].title = replies[position].bytes.flatMap { EventTitle.read(Array($0)) }
    }
  }

  /// Takes in what somebody else has read.
  func note(_ status: FanOutStatus, of event: String, now: Int64) -> CounterRate {
    guard let index = all.firstIndex(where: { $0.event.isExactly(event) }) else {
      return Self.noRate
    }
    all[index].status = status
    all[index].readAt = now
    all[index].rate.add(status.progress.done, at: now)
    return all[index].rate
  }

  private func list(
    _ questions: inout DashboardQuestions, now: Int64
  ) async throws(RedisError) {
    let isWhole = newestEntry == nil || now - listedAt >= Self.listInterval || now < listedAt
    let start = isWhole ? "-" : "(" + (newestEntry ?? "")
    let replies = try await questions.ask([
      ["XREVRANGE", keyspace.statsFanOuts, "+", start, "COUNT", String(Self.maximum)],
      ["ZRANGE", keyspace.statsScheduled, "0", String(Self.mostScheduled - 1)],
    ])
    try DashboardQuestions.check(replies)
    let entries = replies[0]
    var events: [String] = []
    for index in 0..<entries.count { if let id = entries[index][1][1].text { events.append(id) } }
    if isWhole { listedAt = now }
    if entries.count > 0 { newestEntry = entries[0][0].text } else if isWhole { newestEntry = nil }
    let scheduled = (0..<replies[1].count).compactMap { replies[1][$0].text }
    take(scheduled, events, isWhole: isWhole)
  }

  private func take(_ scheduled: [String], _ begun: [String], isWhole: Bool) {
    guard isWhole || !begun.isEmpty || !scheduled.isEmpty else { return }
    var known: [ExactText: Known] = [:]
    for each in all { known[ExactText(each.event)] = each }
    let names = Set(begun.map { ExactText($0) })
    let waiting = scheduled.map { ExactText($0) }
      .filter { !names.contains($0) && (isWhole || known[$0] == nil) }
    // Those that wait have their place however many have begun.
    let events = waiting.map(\.text) + begun
    guard isWhole || !events.isEmpty else { return }
    var seen: Set<ExactText> = []
    var next: [Known] = []
    for event in events + (isWhole ? [] : all.map(\.event)) {
      guard next.count < Self.maximum else { break }
      let name = ExactText(event)
      guard seen.insert(name).inserted else { continue }
      next.append(known[name] ?? Known(event: event))
    }
    all = next
  }

  /// The indices of those that are read now.
  private func due(now: Int64) -> [Int] {
    var new: [Int] = []
    var running: [Int] = []
    var ended: [Int] = []
    for (index, each) in all.enumerated() {
      if each.readAt == .min {
        new.append(index)
      } else if each.goesOn {
        running.append(index)
      } else if now - each.readAt >= Self.endedInterval || now < each.readAt {
        ended.append(index)
      }
    }
    running.sort { all[$0].readAt < all[$1].readAt }
    ended.sort { all[$0].readAt < all[$1].readAt }
    return new + running.prefix(Self.mostRunning) + ended.prefix(Self.mostEnded)
  }
}
