import EventLoop
import Text

/// The time of a world, and the turns of its loops: all of it on the thread that calls `run`. Which
/// of the loops that have something to do comes next, the seed decides. Time passes when none has.
///
/// Unchecked: only the thread that runs the world touches it, and a world has one thread.
package final class WorldScheduler: LoopDriver, @unchecked Sendable {
  /// Nanoseconds, as `EventLoop.now`. Not 0: much of what is told of time takes that for never.
  package private(set) var now: UInt64 = 1_000_000_000_000
  /// Turns of loops, and events, that were run.
  package private(set) var steps = 0
  package var numbers: SplitMix64

  private struct Countdown {
    let loops: Set<ObjectIdentifier>
    var left: Int
    let body: () -> Void

    init(loops: Set<ObjectIdentifier>, left: Int, _ body: @escaping () -> Void) {
      self.loops = loops
      self.left = left
      self.body = body
    }
  }

  private var countdowns: [Countdown] = []
  private var awake: [EventLoop] = []
  private var deadlines: [ObjectIdentifier: UInt64] = [:]
  private var sleepers = DueHeap<EventLoop>()
  private var events = DueHeap<() -> Void>()
  /// Loops of processes that are dead, or stand still until then.
  private var stopped: [ObjectIdentifier: UInt64] = [:]
  /// Where jobs run that no loop asked for: the global pool's, in a world. None when it has ended.
  private(set) package var pool: EventLoop!
  private var hasEnded = false

  package init(seed: UInt64) {
    numbers = SplitMix64(seed: seed)
    pool = EventLoop(name: "pool", driver: self)
  }

  package func randomNumber() -> UInt64 { numbers.next() }

  package func makeLoop(_ name: String) -> EventLoop { EventLoop(name: name, driver: self) }

  package func wake(_ loop: EventLoop) {
    guard !hasEnded, !awake.contains(where: { $0 === loop }) else { return }
    awake.append(loop)
  }

  /// Calls `body` once, when the time has come, between two turns.
  package func schedule(after delay: Duration, _ body: @escaping () -> Void) {
    schedule(at: now &+ delay.nanoseconds, body)
  }

  func schedule(at due: UInt64, _ body: @escaping () -> Void) {
    if !hasEnded { events.insert(body, due: due) }
  }

  /// 0..<bound.
  package func number(below bound: Int) -> Int {
    bound <= 1 ? 0 : Int(numbers.next() % UInt64(bound))
  }

  /// Calls `body` once, when these loops have had so many turns together.
  package func after(turns: Int, of loops: [EventLoop], _ body: @escaping () -> Void) {
    guard turns > 0 else { return body() }
    countdowns.append(Countdown(loops: Set(loops.map(ObjectIdentifier.init)), left: turns, body))
  }

  private func countTurn(of loop: EventLoop) {
    for index in countdowns.indices.reversed()
    where countdowns[index].loops.contains(ObjectIdentifier(loop)) {
      countdowns[index].left -= 1
      if countdowns[index].left == 0 { countdowns.remove(at: index).body() }
    }
  }

  // MARK: processes

  /// These loops run nothing more: their process was killed.
  package func kill(_ loops: [EventLoop]) { hold(loops, until: .max) }

  func isKilled(_ loop: EventLoop) -> Bool { stopped[ObjectIdentifier(loop)] == .max }

  /// These loops run nothing before that time: their process was stopped.
  package func hold(_ loops: [EventLoop], until time: UInt64) {
    for loop in loops {
      stopped[ObjectIdentifier(loop)] = time
      if time < .max { events.insert({ [weak self] in self?.resume(loop) }, due: time) }
    }
  }

  /// These loops run again, whatever was done to them.
  func release(_ loops: [EventLoop]) {
    for loop in loops {
      stopped[ObjectIdentifier(loop)] = nil
      wake(loop)
    }
  }

  private func resume(_ loop: EventLoop) {
    guard let until = stopped[ObjectIdentifier(loop)], until <= now else { return }
    stopped[ObjectIdentifier(loop)] = nil
    wake(loop)
  }

  /// Nothing runs any more.
  func end() {
    hasEnded = true
    pool = nil
    awake = []
    deadlines = [:]
    sleepers = DueHeap()
    events = DueHeap()
    countdowns = []
  }

  // MARK: running

  /// Runs until `isOver` says so, or nothing is left to do, or `limit` of the world's time is over.
  /// - Returns: whether `isOver` said so.
  @discardableResult
  package func run(atMost limit: Duration, until isOver: () -> Bool) -> Bool {
    let end = now &+ limit.nanoseconds
    while !isOver() {
      guard step(before: end) else { return isOver() }
    }
    return true
  }

  /// One turn of a loop, or one event. Returns false when there is none before `end`.
  private func step(before end: UInt64) -> Bool {
    steps += 1
    if let loop = takeAwake() {
      runTurn(of: loop)
      if !countdowns.isEmpty { countTurn(of: loop) }
      return true
    }
    guard let next = nextTime, next <= end else {
      now = max(now, min(end, nextTime ?? end))
      return false
    }
    now = max(now, next)
    if let event = events.popFirst(dueAt: now) {
      event()
      return true
    }
    while let loop = sleepers.popFirst(dueAt: now) {
      guard let deadline = deadlines[ObjectIdentifier(loop)], deadline <= now else { continue }
      deadlines[ObjectIdentifier(loop)] = nil
      wake(loop)
    }
    return true
  }

  private var nextTime: UInt64? {
    switch (events.nextDue, sleepers.nextDue) {
    case (let event?, let sleeper?): min(event, sleeper)
    case (let event, let sleeper): event ?? sleeper
    }
  }

  private func takeAwake() -> EventLoop? {
    while !awake.isEmpty {
      let loop = awake.remove(at: number(below: awake.count))
      if stopped.isEmpty || stopped[ObjectIdentifier(loop)] == nil { return loop }
    }
    return nil
  }

  private func runTurn(of loop: EventLoop) {
    guard let next = loop.runTurn() else {
      deadlines[ObjectIdentifier(loop)] = nil
      return
    }
    // A timer is due when its time is over.
    let deadline = max(next, now) &+ 1
    if let known = deadlines[ObjectIdentifier(loop)], known <= deadline { return }
    deadlines[ObjectIdentifier(loop)] = deadline
    sleepers.insert(loop, due: deadline)
  }
}
