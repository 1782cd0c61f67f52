import EventLoop
import Keyspace
import MemoryRedis
import Model
import Record
import Redis

/// Workers that ask for the segments of one fan-out, in an order that no plan of theirs has, over
/// answers that are lost, and of whom some die. Each answer is compared with what follows from the
/// answers before, and in the end the books with what was settled.
final class StormSegments {
  struct Run {
    let segment: Segment
    let owner: String
    let tally: SegmentTally
    /// Each of them takes a device away.
    var verdicts = 0
    var lists: [Segment] = []
    var hasAsked = false
  }

  struct Books {
    var settled: Set<String> = []
    var owners: [String: String] = [:]
    var counters: [String: Int] = [:]
    var waiting = 0
    var first: Int64 = 0
    var last: Int64 = 0
    var obstacle: String?
    var noted: Set<String> = []
    var omitted = 0
  }

  let storm: Storm
  let id: String
  let event: Event
  let shards: Int
  let space: Keyspace
  var claims = StormClaims()
  var books = Books()
  var runs: [Run] = []
  var source = ""
  var halt: Halt?
  var isOpen: Bool { !source.isEmpty }
  /// All that were written, and those of them that the event counts.
  var lists: [Segment] = []
  var planned: Set<String> = []
  private var serial = 0
  private var steps = 0

  private static let lifetime: Duration = .seconds(10)
  static let noteMaximum = 6
  private var lifetime: Int64 { Self.lifetime.wholeMilliseconds }

  init(_ storm: Storm, _ number: Int) {
    self.storm = storm
    id = "storm-\(number)"
    space = storm.world.keyspace
    shards = number % 2 == 0 ? 1 : 4
    event = storm.event(id, streamer: "storm")
  }

  private var audience: Model.Audience { .sharded(shards: shards, generation: 1, followers: 0) }
  var segments: [Segment] { audience.segments(of: event) }
  private var now: Int64 { storm.world.wallClock() + storm.world.redisAhead }
  func fail(_ text: String) { storm.fail("\(id): \(text)") }

  // MARK: how it is asked

  private static let options: RecordOptions = {
    var options = RecordOptions(verdictsAtOnce: 1)
    options.removalShare = 100
    options.tellsTokens = true
    options.traceMaximum = noteMaximum
    return options
  }()

  struct Died: Error {}

  /// Calls until there is an answer, as workers do; or dies at a reply.
  /// - Parameters:
  ///   - mayDie: at the reply of one of the first scripts.
  ///   - isHeard: no reply is lost.
  ///   - diesSettling: it dies when a segment is settled, before anybody hears of that.
  func call<T>(
    mayDie: Bool = false, isHeard: Bool = false, diesSettling: Bool = false,
    _ body: @escaping (isolated LoopActor, RecordStage) async throws -> T
  ) throws -> T {
    if claims.isNearAnEnd(at: now) { storm.world.run(atMost: .milliseconds(400)) { false } }
    let dies = diesSettling || mayDie && storm.number(1...8) == 1
    if diesSettling {
      storm.world.redis.server.losesReply = { _, reply in
        ScenarioLife.isSettlement(reply)
      }
    } else if dies || !isHeard && storm.number(1...5) == 1 {
      loseReply(storm.number(0...3))
    }
    defer { storm.world.redis.server.losesReply = nil }
    for _ in 0..<4 {
      do { return try storm.ask(Self.options, body) } catch let error as RecordError {
        guard error.isTransient else { throw error }
      }
      if dies { throw Died() }
    }
    throw Died()
  }

  private func loseReply(_ passed: Int) {
    var left = passed
    let server = storm.world.redis.server
    server.losesReply = { [weak server] command, _ in
      guard command.first?.text.lowercased().hasPrefix("eval") == true else { return false }
      left -= 1
      if left < 0 { server?.losesReply = nil }
      return left < 0
    }
  }

  func settled(_ segment: String) -> Bool { books.settled.contains(segment) }

  // MARK: what is asked

  func run() {
    for _ in 0..<90 {
      if storm.number(1...5) == 1 {
        storm.world.run(
          atMost: [.milliseconds(300), .seconds(4), .seconds(11)][storm.number(0...2)]
        ) { false }
      }
      do { try step() } catch is Died {} catch { fail("\(error)") }
      check()
    }
    finish()
  }

  private func step() throws {
    steps += 1
    switch storm.number(1...24) {
    case 1...3: try open()
    case 4...11: try claim((segments + lists).randomElement(using: &storm.numbers))
    case 12...15: try renew()
    case 16: try release()
    case 17: try setHalt()
    case 18: try expireTooSoon()
    case 19: try settleLate()
    case 20: try drop()
    case 21: try dieBehindSurplus()
    default: try settle()
    }
  }

  /// By its record, by another one, or by one that repeats it.
  func open(by asked: String? = nil) throws {
    guard isOpen || asked != nil || storm.number(1...2) == 1 else { return try endStreamAhead() }
    serial += 1
    let isOther = isOpen && asked == nil && storm.number(1...3) == 1
    let isReplay = isOpen && !isOther && storm.number(1...3) == 1
    let known = isOpen ? source : "t/0/1"
    let own = isOther || isReplay ? "t/0/\(serial + 1)" : known
    let (event, audience) = (event, audience)
    let time = storm.world.wallClock()
    // Its only segment is claimed with it; under another plan that is another segment.
    let asks = shards == 1 && isOpen && asked == nil
    let isPlan = storm.number(1...2) == 1
    let read: Model.Audience =
      asks && !isPlan ? .sharded(shards: 1, generation: 2, followers: 0) : audience
    let owner = "w8/\(serial)"
    let claim = asks ? Claim(segment: read.segments(of: event)[0], owner: owner) : nil
    let (result, claimed) = try call {
      try await $1.open(
        event: event, audience: read, source: own, replayed: isReplay ? known : nil,
        claim: claim, lifetime: Self.lifetime, now: time)
    }
    if let claimed, !isPlan { fail("a segment of another plan is claimed: \(claimed)") }
    if let claimed, isPlan {
      compare(
        claimed, with: expected(segments[0], owner, adopts: false, claimed), of: segments[0], owner)
    }
    let isRight: Bool
    switch result {
    // The answer to the first one was lost.
    case .new: isRight = !isOpen
    case .duplicate: isRight = isOther
    case .finished: isRight = isDone && !isOther
    case .resumed(let plan, _): isRight = !isDone && !isOther && plan == audience
    default: isRight = false
    }
    if !isRight { fail("\(own) behind \(source) opens it: \(result)") }
    if !isOther { source = own }
  }

  private func endStreamAhead() throws {
    let time = storm.world.wallClock()
    let result = try call { [id] in
      try await $1.setHalt(.paused, of: id, reason: "storm", isAhead: true, now: time)
    }
    if result != .done && result != .already { fail("it is stopped before it is there: \(result)") }
    halt = .paused
  }

  var isDone: Bool {
    isOpen && books.settled.count >= shards + planned.count
  }

  func claim(_ segment: Segment?) throws {
    guard let segment, isOpen else { return }
    serial += 1
    let old = runs.last { $0.segment.id == segment.id && storm.number(1...3) == 1 }
    let owner = old?.owner ?? "w\(storm.number(1...3))/\(serial)"
    let list = segment.stragglers
    let adopts = list != nil && storm.number(1...3) == 1
    let time = storm.world.wallClock()
    let claim = Claim(segment: segment, owner: owner)
    let result = try call {
      adopts
        ? try await $1.adopt(claim, lifetime: Self.lifetime, now: time)
        : try await $1.claim(claim, lifetime: Self.lifetime, now: time)
    }
    compare(result, with: expected(segment, owner, adopts: adopts, result), of: segment, owner)
    guard case .yours = result, old == nil else { return }
    let tally = tally(of: segment)
    runs.append(
      Run(segment: segment, owner: owner, tally: tally, verdicts: tally.verdicts.count))
  }

  private func expected(
    _ segment: Segment, _ owner: String, adopts: Bool, _ result: ClaimResult
  ) -> ClaimResult {
    if settled(segment.id) { return .settled }
    if let list = segment.stragglers, !planned.contains(segment.id) {
      if settled(list.parent) || claims.dropped.contains(segment.id) { return .orphaned }
      if !adopts || claims.isWorkedOn(list.parent, butBy: owner, at: now) { return .unplanned }
      planned.insert(segment.id)
      books.waiting += list.pushes.count
    }
    if halt == .paused, !claims.isWorkedOn(segment.id, butBy: owner, at: now) { return .paused }
    var time = now
    if case .yours(let redisTime, _, _) = result { time = redisTime }
    let (isYours, former) = claims.claim(segment.id, by: owner, for: lifetime, at: time)
    guard isYours else { return .claimed(milliseconds: 0) }
    return .yours(redisTime: time, isCancelled: halt == .cancelled, takenFrom: former)
  }

  private func compare(
    _ result: ClaimResult, with expected: ClaimResult, of segment: Segment, _ owner: String
  ) {
    var result = result
    if case .claimed(let left) = result, left <= lifetime { result = .claimed(milliseconds: 0) }
    if result != expected {
      fail("\(owner) asks for \(segment.id) and hears \(result), not \(expected)")
    }
  }

  private func renew() throws {
    let some = runs.filter { _ in storm.number(1...2) == 1 }
    guard !some.isEmpty else { return }
    let asked = some.map { Claim(segment: $0.segment, owner: $0.owner) }
    let renewals = try call { try await $1.renew(asked, lifetime: Self.lifetime) }
    for (run, found) in zip(some, renewals) {
      let wanted =
        settled(run.segment.id)
        ? .settled : claims.renew(run.segment.id, by: run.owner, for: lifetime, at: now)
      if found != wanted {
        fail("\(run.owner) renews \(run.segment.id) and hears \(found), not \(wanted)")
      }
    }
  }

  private func release() throws {
    guard let run = runs.randomElement(using: &storm.numbers), !settled(run.segment.id) else {
      return
    }
    let hasSent = storm.number(1...2) == 1
    let claim = Claim(segment: run.segment, owner: run.owner)
    try call { try await $1.release(claim, hasSent: hasSent) }
    claims.release(run.segment.id, by: run.owner, hasSent: hasSent)
  }

  /// What a run has written that comes to nothing.
  private func drop() throws {
    guard let index = runs.firstIndex(where: { !$0.hasAsked && !$0.lists.isEmpty }) else { return }
    let lists = runs.remove(at: index).lists.map(\.id).filter { !planned.contains($0) }
    try call { [event] in try await $1.drop(lists, of: event) }
    for list in lists { claims.drop(list) }
  }

  private func setHalt() throws {
    let wanted: Halt? = [.paused, nil, nil, .cancelled][storm.number(0...3)]
    guard wanted != .cancelled || steps > 40 else { return }
    let time = storm.world.wallClock()
    let result = try call { [id] in
      try await $1.setHalt(wanted, of: id, reason: "storm", now: time)
    }
    let expected: HaltResult =
      if !isOpen {
        .unknown
      } else if halt == wanted {
        .already
      } else if halt == .cancelled {
        .cancelledBefore
      } else if isDone {
        .ended("done")
      } else {
        .done
      }
    // Its answer may have been lost.
    if result != expected && !(expected == .done && result == .already) {
      fail("from \(halt?.rawValue ?? "-") to \(wanted?.rawValue ?? "-"): \(result)")
    }
    if expected == .done { halt = wanted }
  }

  /// By a clock that is ahead.
  private func expireTooSoon() throws {
    let (event, source) = (event, source.isEmpty ? "t/0/1" : source)
    do {
      let result = try call {
        try await $1.expire(event: event, source: source, now: event.expiresAt + 1)
      }
      fail("it has expired by one clock only: \(result)")
    } catch let error as RecordError where error.code.isOfClocks {}
  }

  // MARK: what becomes of a segment

  func tally(of segment: Segment) -> SegmentTally {
    let tally = SegmentTally()
    let accepted = storm.number(0...9)
    tally.count(.accepted, times: accepted)
    tally.count(.expired, times: storm.number(0...2))
    if accepted > 0 {
      let time = storm.world.wallClock()
      tally.firstPushAt = time - Int64(storm.number(0...9_000))
      tally.lastPushAt = time + Int64(storm.number(0...9_000))
    }
    if storm.number(1...4) == 1 { tally.obstacle = "storm \(serial)" }
    tally.notes = Self.options.notes(of: segment) { 1_795_248_000_000 }
    for index in 0..<storm.number(0...2) {
      tally.notes?.add(user: "n-\(segment.id)-\(index)", member: "apns:x", .outcome(.expired))
    }
    if let list = segment.stragglers, storm.number(1...2) == 1 {
      tally.notes?.add(user: "l-\(list.parent)", member: "apns:x", .outcome(.accepted))
    }
    for _ in 0..<[0, 0, 1, 3, 5][storm.number(0...4)] { addVerdict(to: tally) }
    tally.pushes = tally.settled
    tally.recipients = tally.pushes
    return tally
  }

  /// Of a device that nobody else has heard of.
  private func addVerdict(to tally: SegmentTally) {
    serial += 1
    tally.count(.rejected(.unregistered))
    tally.add(storm.verdict(WorldDevice(0xD00_0000 + serial), of: "\(id)-v\(serial)"))
  }

  func settle() throws {
    let open = runs.indices.filter { !settled(runs[$0].segment.id) || storm.number(1...4) == 1 }
    guard let index = open.randomElement(using: &storm.numbers) else { return }
    if !runs[index].hasAsked, storm.number(1...3) == 1 { writeList(for: index) }
    if storm.number(1...3) == 1 { try pruneSurplus(index) }
    try settle(index)
  }

  private func writeList(for index: Int) {
    serial += 1
    let run = runs[index]
    let pushes = (0..<storm.number(1...3)).map {
      Straggler(
        user: "l-\(run.segment.id)", member: "apns:x\($0)", history: PushHistory())
    }
    let list = run.segment.straggling(pushes, number: UInt64(serial))
    runs[index].lists.append(list)
    lists.append(list)
    run.tally.notes?.add(user: "l-\(run.segment.id)", member: "apns:x", .waiting)
  }

  private func pruneSurplus(_ index: Int) throws {
    nonisolated(unsafe) let run = runs[index]
    guard !settled(run.segment.id), run.tally.verdicts.count >= 4 else { return }
    let time = storm.world.wallClock()
    try call(isHeard: true) {
      try await $1.pruneSurplus(run.segment, run.tally, owner: run.owner, now: time)
      try await $1.forget(run.tally.pendingChanges.notes, of: run.segment)
    }
    run.tally.pendingChanges = PendingTokenChanges()
    books.counters["pruned", default: 0] += run.tally.findings.pruned
    surplus[run.owner] = run.tally.findings.pruned
  }

  private func dieBehindSurplus() throws {
    guard
      let index = runs.firstIndex(where: {
        $0.tally.verdicts.count >= 4 && !settled($0.segment.id)
      })
    else { return }
    try pruneSurplus(index)
    runs.remove(at: index)
  }

  /// What is counted of an owner's removals before it settles.
  var surplus: [String: Int] = [:]

  func settle(_ index: Int, mayDie: Bool = true, dies: Bool = false) throws {
    nonisolated(unsafe) let run = runs[index]
    let (id, wasSettled) = (run.segment.id, settled(run.segment.id))
    runs[index].hasAsked = true
    let time = storm.world.wallClock()
    let planned = run.lists.map { PlannedStragglers($0) }
    func write() throws -> Settlement {
      try call(mayDie: mayDie, diesSettling: dies) {
        try await $1.settle(
          run.segment, run.tally, stragglers: planned, owner: run.owner, now: time)
      }
    }
    var settlement: Settlement
    do {
      settlement = try write()
      for _ in 0..<3 {
        guard case .pending(let notes) = settlement else { break }
        try call {
          try await $1.takeUp(notes, of: run.segment, run.tally, now: time)
          try await $1.forget(notes, of: run.segment)
        }
        settlement = try write()
      }
    } catch is Died {
      // Nobody asks for it by this name any more.
      let isWritten = storm.world.holds(space.settled(id: event.id), id)
      if isWritten, !wasSettled { note(runs[index]) }
      runs.remove(at: index)
      return
    }
    switch settlement {
    case .recorded(let done):
      if wasSettled, books.owners[id] != run.owner {
        fail("\(run.owner) has settled \(id), which another had")
      }
      if !wasSettled { note(runs[index]) }
      if (done.fanOut != nil) != isDone, !wasSettled { fail("it is done: \(done.fanOut != nil)") }
    case .alreadySettled:
      if !wasSettled || books.owners[id] == run.owner {
        fail("\(run.owner) hears that another has settled \(id)")
      }
    case .pending(let notes): fail("\(id) is never told: \(notes)")
    }
  }

  /// Somebody who has heard nothing of it has still a word on a device.
  private func settleLate() throws {
    guard let index = runs.indices.first(where: { settled(runs[$0].segment.id) }),
      books.owners[runs[index].segment.id] != runs[index].owner
    else { return }
    let before = runs[index].tally.verdicts.count
    addVerdict(to: runs[index].tally)
    let member = runs[index].tally.verdicts[before].member
    let user = runs[index].tally.verdicts[before].user
    try settle(index)
    if !storm.world.holds(space.bindings(user: user), member) {
      fail("a device is gone by the word of one whose segment another had settled")
    }
  }
}
