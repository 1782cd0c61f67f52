import Keyspace
import MemoryRedis
import Record

/// Whether the statistics are the sum of what the events have counted, in each of their forms.
struct StatisticsAudit {
  private let world: World
  /// Events, and which of them are over.
  private let events: [(id: String, isOver: Bool)]
  private(set) var problems: [String] = []

  init(_ world: World, _ events: [(id: String, isOver: Bool)], _ keys: [String]) {
    self.world = world
    self.events = events
    check(keys)
  }

  private mutating func fail(_ problem: String) { problems.append(problem) }

  private mutating func check(_ keys: [String]) {
    let keyspace = world.keyspace
    let total = numbers(keyspace.statsTotal)
    var sums: [String: Int] = [:]
    var ends: [String: Int] = [:]
    for event in events { checkSums(of: event.id, into: &sums, &ends) }
    sums["dead_letters"] = total["dead_letters"]
    for (name, count) in total where name.hasPrefix("dead_letters:") { sums[name] = count }
    compare("the statistics", total, with: sums)
    let letters = total.reduce(0) { $0 + ($1.key.hasPrefix("dead_letters:") ? $1.value : 0) }
    if letters != total["dead_letters"] ?? 0 {
      fail("of \(total["dead_letters"] ?? 0) dead letters \(letters) have a reason")
    }
    let minutes = keys.filter { $0.hasPrefix("ff:{stats}:minute:") }
    compare("the minutes", minutes.reduce(into: [:]) { add(numbers($1), to: &$0) }, with: total)
    let days = keys.filter { $0.hasPrefix("ff:{stats}:day:") }
    compare("the days", days.reduce(into: [:]) { add(numbers($1), to: &$0) }, with: total)
    checkStreams(ends)
    checkSeries(total)
  }

  private func numbers(_ key: String) -> [String: Int] {
    world.hash(key).compactMapValues { Int($0) }
  }

  private func add(_ counts: [String: Int], to sum: inout [String: Int]) {
    for (name, count) in counts { sum[name, default: 0] += count }
  }

  private mutating func compare(_ what: String, _ counts: [String: Int], with wanted: [String: Int])
  {
    let names = Set(counts.keys).union(wanted.keys).sorted()
    for name in names where counts[name] ?? 0 != wanted[name] ?? 0 {
      fail("\(what) have \(name) \(counts[name] ?? 0), and should have \(wanted[name] ?? 0)")
    }
  }

  /// An event's sums are its counters, and the statistics have all of them.
  private mutating func checkSums(
    of id: String, into all: inout [String: Int], _ ends: inout [String: Int]
  ) {
    let keyspace = world.keyspace
    let sums = numbers(keyspace.sums(id: id))
    let known = numbers(keyspace.statsSums(event: id))
    for (name, count) in sums.sorted(by: { $0.key < $1.key }) {
      if name.hasPrefix(".verdicts") || name.hasPrefix(".end:") { continue }
      if known[name] ?? 0 != count {
        fail("the statistics have of \(id) \(name) \(known[name] ?? 0) of \(count)")
      }
      if !name.hasPrefix(".") { all[name, default: 0] += count }
    }
    ends[id] = sums[".ends"] ?? 0
    let status = numbers(keyspace.event(id: id))
    let others: Set = [
      "segments", "settled", "waiting", "published", "dead_lettered", "forgotten_ms", "overdue",
      "traced", "trace_omitted",
    ]
    for (name, count) in status.sorted(by: { $0.key < $1.key })
    where !others.contains(name) && !name.hasSuffix("_ms") && sums[name] ?? 0 != count {
      fail("\(id) has \(name) \(count), and its sums \(sums[name] ?? 0)")
    }
    if sums["segments"] ?? 0 != status["settled"] ?? 0 {
      fail("\(id) has settled \(status["settled"] ?? 0), its sums \(sums["segments"] ?? 0)")
    }
  }

  /// Each fan-out that began is in one stream, and each end of one, as it was, in the other.
  private mutating func checkStreams(_ ends: [String: Int]) {
    let keyspace = world.keyspace
    var begun: [String: Int] = [:]
    for entry in world.entries(keyspace.statsFanOuts) {
      begun[entry["event"] ?? "", default: 0] += 1
    }
    var summaries: [String: [[String: String]]] = [:]
    for entry in world.entries(keyspace.statsEvents) {
      summaries[entry["event"] ?? "", default: []].append(entry)
    }
    for event in events where event.isOver {
      let times = numbers(keyspace.sums(id: event.id))[".begun"] ?? 0
      if begun[event.id] ?? 0 != times {
        fail("\(event.id) began \(times) times, and \(begun[event.id] ?? 0) times in the stream")
      }
      let found = summaries[event.id] ?? []
      if found.count != ends[event.id] ?? 0 {
        fail("\(event.id) ended \(ends[event.id] ?? 0) times, in the stream \(found.count) times")
      }
      guard let last = found.last else { continue }
      let status = world.hash(keyspace.event(id: event.id))
      for (name, value) in last.sorted(by: { $0.key < $1.key }) where name != "event" {
        guard status["state"] != "running", name != "rejected" else { continue }
        if status[name] ?? "0" != value {
          fail("\(event.id) has \(name) \(status[name] ?? "0"), and its summary \(value)")
        }
      }
    }
  }

  /// The points of the series never fall, and the last one is what the statistics are.
  private mutating func checkSeries(_ total: [String: Int]) {
    let points = world.entries(world.keyspace.statsSeries).map { $0.compactMapValues { Int($0) } }
    for (before, after) in zip(points, points.dropFirst()) {
      for (name, count) in before where count > after[name] ?? 0 {
        fail("the series falls from \(name) \(count) to \(after[name] ?? 0)")
      }
    }
    guard let last = points.last else { return }
    for (name, count) in last.sorted(by: { $0.key < $1.key }) where count != total[name] ?? 0 {
      fail("the series ends with \(name) \(count), and the statistics have \(total[name] ?? 0)")
    }
  }
}

extension Oracle {
  func checkStatistics(_ keys: [String]) {
    let written = events.indices.filter { events[$0].isWritten && !isForgotten($0) }
      .map { (id: events[$0].id, isOver: events[$0].over != .max) }
    for problem in StatisticsAudit(world, written, keys).problems { fail(problem) }
  }
}
