import EventLoop
import Keyspace
import Model
import Record

/// What the documents say of single questions that workers ask of Redis, each asked as it may come.
final class StormRules {
  private let storm: Storm
  private var space: Keyspace { storm.world.keyspace }

  init(_ storm: Storm) { self.storm = storm }

  func run() {
    do {
      try checkCooldown()
      try checkLimit()
      try checkWave()
      try checkEvidence()
      try checkOverdue()
      try checkLateSums()
      try checkBrokenOwner()
    } catch { storm.fail("\(error)") }
    storm.delete { $0.hasPrefix("ff:") || $0.contains("rule-") }
  }

  private func event(_ id: String, expiresIn: Int64 = 900) -> Event {
    storm.event("rule-\(id)", streamer: "rule-s", expiresIn: expiresIn)
  }

  private func pass(_ time: Duration) { storm.world.run(atMost: time) { false } }

  /// What was refused stays refused when its record is read again, and keeps no later one back.
  private func checkCooldown() throws {
    var options = RecordOptions()
    options.cooldown = .seconds(60)
    let (first, second, third) = (event("c1"), event("c2"), event("c3"))
    func register(_ event: Event) throws -> String? {
      try storm.ask(options) { try await $1.register(event) }
    }
    let answers = [try register(first), try register(second), try register(first)]
    pass(.seconds(61))
    let later = [try register(second), try register(third), try register(first)]
    if answers != [nil, "cooldown", nil] || later != ["cooldown", nil, nil] {
      storm.fail("events in quick succession hear \(answers), and then \(later)")
    }
  }

  /// Who asks first for what a limit leaves does not get all of it.
  private func checkLimit() throws {
    nonisolated(unsafe) let limit = PushLimit(.app("rule-app"), rate: 1_000)
    pass(.seconds(2))
    let given = try (0..<3).map { _ in
      try storm.ask(RecordOptions()) { try await $1.lease(1_000, of: limit) }
    }
    if given.contains(0) || given[0] > 150 { storm.fail("of a limit three get \(given)") }
  }

  private func tally(accepted: Int, _ verdicts: [TokenVerdict]) -> SegmentTally {
    let tally = SegmentTally()
    tally.topic = "rule-topic"
    tally.count(.accepted, times: accepted)
    for verdict in verdicts { tally.add(verdict) }
    return tally
  }

  private func verdict(_ number: Int, isUnusable: Bool = false) -> TokenVerdict {
    storm.verdict(
      WorldDevice(0xC00_0000 + number), of: "rule-u\(number)", isUnusable: isUnusable)
  }

  /// What Apple took long ago does not cover for a wave of 410s.
  private func checkWave() throws {
    let segment = Segment(event: event("w1"), slice: .named, count: 1)
    let now = storm.world.wallClock()
    nonisolated(unsafe) let calm = tally(accepted: 5_000, [verdict(1)])
    nonisolated(unsafe) let wave = tally(accepted: 0, (2..<62).map { verdict($0) })
    try storm.ask(RecordOptions()) {
      try await $1.prune(segment, calm, now: now)
      try await $1.prune(segment, wave, now: now)
    }
    if calm.findings.pruned != 1 || wave.findings.pruned != 0 {
      storm.fail("of one and of sixty 410s \(calm.findings.pruned) and \(wave.findings.pruned) go")
    }
  }

  /// Nor is what was right half an hour ago a proof against devices of today.
  private func checkEvidence() throws {
    let segment = Segment(event: event("w2"), slice: .named, count: 1)
    let now = storm.world.wallClock()
    nonisolated(unsafe) let calm = tally(accepted: 80, [])
    nonisolated(unsafe) let later = tally(
      accepted: 0, (70..<82).map { verdict($0, isUnusable: true) })
    try storm.ask(RecordOptions()) {
      try await $1.prune(segment, calm, now: now)
      try await $1.prune(segment, later, now: now + 1_800_000)
    }
    if later.findings.quarantined != 0 {
      storm.fail("\(later.findings.quarantined) devices go by what was taken half an hour ago")
    }
  }

  /// A fan-out is overdue when nobody has had a claim for as long as is said, and somebody looked.
  private func checkOverdue() throws {
    let event = event("o1", expiresIn: 2)
    let segment = Segment(event: event, slice: .shard(index: 0, generation: 1), count: 1)
    let now = storm.world.wallClock()
    try storm.ask(RecordOptions()) {
      _ = try await $1.open(
        event: event, audience: .sharded(shards: 1, generation: 1, followers: 1),
        source: "t/0/1", claim: Claim(segment: segment, owner: "w1/1"), lifetime: .seconds(30),
        now: now)
      try await $1.handOver(event.id, now: now)
    }
    var found: [Int] = []
    // Somebody has it, until second 30; nobody looks between seconds 36 and 60.
    for second in 1...80 {
      pass(.seconds(1))
      guard second % 2 == 0, !(36..<60).contains(second) else { continue }
      let overdue = try storm.ask(RecordOptions()) {
        try await $1.overdueFanOuts(after: .seconds(12), lookedAtEvery: .seconds(5))
      }
      if overdue.contains(where: { $0.event == event.id }) { found.append(second) }
    }
    if found.first != 72 { storm.fail("a fan-out is overdue at \(found), not from 72 on") }
  }

  /// Sums that somebody read before Redis lost an event are not counted to the next of its name.
  private func checkLateSums() throws {
    let event = event("l1")
    let segment = Segment(event: event, slice: .named, count: 1)
    func settle(_ accepted: Int) throws {
      let now = storm.world.wallClock()
      nonisolated(unsafe) let tally = tally(accepted: accepted, [])
      _ = try storm.ask(RecordOptions()) {
        _ = try await $1.open(
          event: event, audience: .named, source: "t/0/1", claim: nil, lifetime: .seconds(9),
          now: now)
        return try await $1.settle(segment, tally, owner: "w1/1", now: now)
      }
    }
    let before = accepted
    try settle(7)
    let sums = space.sums(id: event.id)
    let old = storm.world.hash(sums)
    storm.delete { $0.hasPrefix("ff:{e:rule-l1}") }
    pass(.seconds(1))
    try settle(4)
    if accepted != before + 11 { storm.fail("7 and then 4 are \(accepted - before)") }
    // Who brings them has read them before the loss.
    for (name, value) in old { _ = storm.world.ask("HSET", sums, name, value) }
    let now = storm.world.wallClock()
    try storm.ask(RecordOptions()) { try await $1.handOver(event.id, now: now) }
    if accepted != before + 11 { storm.fail("what was lost counts again: \(accepted - before)") }
  }

  /// Whose token has a key of another type loses the device, and somebody hears of the key.
  private func checkBrokenOwner() throws {
    let segment = Segment(event: event("b1"), slice: .named, count: 1)
    let now = storm.world.wallClock()
    nonisolated(unsafe) let tally = tally(accepted: 5_000, [verdict(90)])
    let key = space.tokenOwner(token: WorldDevice(0xC00_0000 + 90).token)
    _ = storm.world.ask("DEL", key)
    _ = storm.world.ask("SADD", key, "nobody")
    try storm.ask(RecordOptions()) { try await $1.prune(segment, tally, now: now) }
    if tally.findings.pruned != 1 || tally.findings.failed != 1 {
      storm.fail("with a broken key \(tally.findings)")
    }
    _ = storm.world.ask("DEL", key)
  }

  private var accepted: Int {
    Int(storm.world.hash(space.statsTotal)["accepted"] ?? "") ?? 0
  }
}
