import Model

/// The pushes of one topic that are to be sent, and whether our credentials are taken for it.
///
/// Fan-outs take turns by a number of pushes (deficit round robin), so that a failing one, or a
/// giant, costs another no more than its share. Small fan-outs go first, in turns among themselves;
/// large ones have a turn after some turns of the small, and outliers after some turns of all
/// others. A fan-out has no turn while its limits let nothing go.
///
/// Pushes whose credentials were refused are in no fan-out's queue: they go first while credentials
/// are good, and last while another push should ask.
final class TopicQueue {
  /// Turns of small fan-outs before one of the large, and of both before one of the outliers.
  static let turnsBefore = 3

  let name: String
  var gate = CredentialGate()
  private let route: UInt16
  private let outliers: Outliers
  /// Its pushes can be sent: the route is open and credentials are not refused.
  private(set) var isOpen: Bool
  /// The route is slow, and others go on: segments keep no slots for these pushes.
  private(set) var yields = false
  /// Shown to operators while credentials are refused.
  var obstacle: RouteObstacle?

  /// Of the fan-outs that have pushes here beside those that were refused.
  private var fanOuts: [ObjectIdentifier: FanOutQueue] = [:]
  /// The same by class, each in the order of their turns; the one that has the turn is last.
  private var turns = [[FanOutQueue]](repeating: [], count: FanOutQueue.TrafficClass.allCases.count)
  private var refused: [ReadyPush] = []
  /// An empty queue for the next fan-out.
  private var spare: FanOutQueue?
  /// Turns of small fan-outs since one of the large, or none of those waited.
  private var smallSince = 0
  /// The same of all others and outliers.
  private var othersSince = 0
  /// Fan-outs here that have a limit.
  private var limited = 0
  /// The fan-out that has the turn, and pushes that are left of it.
  private var current: FanOutQueue?
  private var left = 0
  /// Of all that are here.
  private(set) var count = 0

  init(name: String, route: UInt16, isOpen: Bool, outliers: Outliers) {
    self.name = name
    self.route = route
    self.isOpen = isOpen
    self.outliers = outliers
  }

  /// A push that was in flight in a lost connection is not for this queue.
  private static func isOurs(_ entry: PushBatch.Entry, _ route: UInt16) -> Bool {
    entry.route == route && entry.history.losses == 0
  }

  /// Is sent in the batch's order: no earlier try of it, here or in another segment, was refused
  /// for our credentials.
  static func isOrdinary(_ entry: PushBatch.Entry, for route: UInt16) -> Bool {
    isOurs(entry, route) && entry.history.refusals == 0
  }

  // MARK: what is here

  func canSend(at now: UInt64) -> Bool {
    count > 0 && gate.allows(at: now, hasUntried: count > refused.count) && mayGo
  }

  /// Small fan-outs first, outliers last.
  private var all: FlattenSequence<[[FanOutQueue]]> { turns.joined() }

  /// When the first batch came that is not all sent; nil when none waits. Outliers, and fan-outs
  /// that have reached a limit, say nothing of how long others wait.
  var oldest: UInt64? {
    all.lazy.filter { $0.trafficClass != .outlier && !$0.fanOut.isShort }.compactMap(\.oldest).min()
  }

  /// More could be sent: fan-outs that limits hold up take note.
  func lack() {
    guard limited > 0 else { return }
    for queue in all where !queue.mayGo { queue.fanOut.lack() }
  }

  /// A limit may hold up some of the fan-outs.
  private var mayBeHeldUp: Bool {
    limited > 0 || !turns[FanOutQueue.TrafficClass.outlier.rawValue].isEmpty
  }

  private var mayGo: Bool {
    !mayBeHeldUp || !refused.isEmpty || all.contains(where: \.mayGo)
  }

  /// Pushes of fan-outs that are not held up by a limit.
  var sendable: Int {
    guard mayBeHeldUp else { return count }
    return all.reduce(refused.count) { $0 + ($1.mayGo ? $1.count : 0) }
  }

  /// Fan-outs that have pushes here, and their new pushes, of those that share capacity.
  func sharing(_ share: FanOutQueue.TrafficClass?) -> (fanOuts: Int, fresh: Int) {
    var sum = (fanOuts: 0, fresh: 0)
    for queue in all where queue.share == share {
      sum.fanOuts += 1
      sum.fresh += queue.freshCount
    }
    return sum
  }

  func count(of fanOut: FanOut) -> Int { fanOuts[ObjectIdentifier(fanOut)]?.count ?? 0 }

  func contains(_ tally: SegmentTally) -> Bool {
    fanOuts[ObjectIdentifier(tally.fanOut)]?.contains(tally) == true
      || refused.contains { $0.tally === tally }
  }

  /// No push is here, and what refusals have shown is old.
  func isForgettable(at now: UInt64) -> Bool {
    guard count == 0 else { return false }
    guard let refused = gate.lastRefusedAt else { return true }
    // While credentials are refused, operators see it for an hour after the last push.
    return now &- refused > (gate.isRefused ? 60 : 1) * Evidence.memory
  }

  // MARK: coming

  /// Takes pushes of `batch` that take this route, `limit` at most.
  /// - Returns: how many, and the index behind the last that was looked at.
  func append(
    _ batch: PushBatch, atMost limit: Int = .max, at now: UInt64 = 0
  ) -> (taken: Int, end: Int) {
    let entries = batch.entries
    var taken = 0
    var ordinary = 0
    var plain = 0
    var end = 0
    while end < entries.count {
      if Self.isOurs(entries[end], route) {
        guard taken < limit else { break }
        taken += 1
        if Self.isOrdinary(entries[end], for: route) {
          ordinary += 1
          if entries[end].history.isEmpty { plain += 1 }
        } else {
          refused.append(ReadyPush(batch: batch, index: end, history: entries[end].history))
        }
      }
      end += 1
    }
    if ordinary > 0 {
      queue(of: batch.tally.fanOut)
        .append(batch, end: end, count: ordinary, isPlain: plain == end, at: now)
    }
    count += taken
    if counts(batch.tally) { batch.tally.willSend(taken) }
    return (taken, end)
  }

  /// A push comes back, or from where it waited.
  func append(_ push: ReadyPush) {
    if push.isFirst, counts(push.tally) { push.tally.willSend(1) }
    if push.history.refusals > 0 {
      refused.append(push)
    } else {
      queue(of: push.tally.fanOut).append(returned: push)
    }
    count += 1
  }

  // MARK: going

  /// The next pushes; one at a time while credentials are in doubt. They stay here until they are
  /// dropped, and nothing else is done to the queue before.
  /// - Parameter turn: pushes of a fan-out before it is another's turn.
  func upcoming(atMost limit: Int, turn: Int = FairQueue.pushesPerTurn) -> ReadyRun? {
    let limit = gate.isOpen ? limit : 1
    if gate.isOpen, let push = refused.last { return ReadyRun(push, from: .refusedLast) }
    if let queue = next(length: turn) { return queue.upcoming(atMost: min(limit, left)) }
    // In turn: the same push must not be the only one that asks.
    return refused.first.map { ReadyRun($0, from: .refusedFirst) }
  }

  /// The first `sent` of the upcoming pushes have left.
  func drop(_ run: ReadyRun, _ sent: Int) {
    guard sent > 0 else { return }
    switch run.origin {
    case .refusedLast: refused.removeLast()
    case .refusedFirst: refused.removeFirst()
    case .returned, .batches:
      guard let queue = fanOuts[ObjectIdentifier(run.first.tally.fanOut)] else { return }
      if case .returned = run.origin { queue.dropReturned() } else { queue.dropFresh(sent) }
      if current === queue { left -= sent }
      if queue.count == 0 { forget(queue) }
    case .elsewhere: return
    }
    count -= sent
  }

  /// Takes one out, whether it may go or not.
  func removeAny() -> ReadyPush? {
    let run =
      refused.last.map { ReadyRun($0, from: .refusedLast) }
      ?? all.lazy.compactMap { $0.first(atMost: 1) }.first
    guard let run else { return nil }
    drop(run, 1)
    return run.first
  }

  /// Takes out the pushes whose event has expired at `milliseconds` since 1970.
  func takeExpired(at milliseconds: Int64) -> [ReadyPush] {
    take { $0.headers.expiresAt <= milliseconds }
  }

  func take(of tally: SegmentTally) -> [ReadyPush] { take { $0.tally === tally } }

  private func take(where isWanted: (PushBatch) -> Bool) -> [ReadyPush] {
    var taken: [ReadyPush] = []
    if !refused.isEmpty {
      taken = refused.filter { isWanted($0.batch) }
      refused.removeAll { isWanted($0.batch) }
    }
    for queue in Array(all) {
      taken += queue.take(where: isWanted)
      if queue.count == 0 { forget(queue) }
    }
    count -= taken.count
    return taken
  }

  // MARK: turns

  /// The fan-out whose turn it is, `left` pushes of which may go; nil when none waits that may.
  /// - Parameter length: pushes of a turn that begins.
  private func next(length: Int) -> FanOutQueue? {
    if let current, left > 0, mayGo(current) {
      // The turns may be shorter by now.
      left = min(left, length)
      return current
    }
    left = length
    current = nextOutlier() ?? nextOther()
    return current
  }

  private func mayGo(_ queue: FanOutQueue) -> Bool { !mayBeHeldUp || queue.mayGo }

  private func nextOutlier() -> FanOutQueue? {
    guard waits(.outlier) else { return nil }
    guard othersSince >= Self.turnsBefore || !waits(.small) && !waits(.large) else {
      othersSince += 1
      return nil
    }
    othersSince = 0
    return rotate(.outlier)
  }

  private func nextOther() -> FanOutQueue? {
    let areLarge = waits(.large)
    guard waits(.small), !areLarge || smallSince < Self.turnsBefore else {
      smallSince = 0
      return rotate(.large)
    }
    smallSince = areLarge ? smallSince + 1 : 0
    return rotate(.small)
  }

  private func waits(_ trafficClass: FanOutQueue.TrafficClass) -> Bool {
    let queues = turns[trafficClass.rawValue]
    return mayBeHeldUp ? queues.contains(where: \.mayGo) : !queues.isEmpty
  }

  private func rotate(_ trafficClass: FanOutQueue.TrafficClass) -> FanOutQueue? {
    let index = trafficClass.rawValue
    guard let next = turns[index].firstIndex(where: mayGo) else { return nil }
    if turns[index].count > 1 { turns[index].append(turns[index].remove(at: next)) }
    return turns[index].last
  }

  private func queue(of fanOut: FanOut) -> FanOutQueue {
    if let current, current.fanOut === fanOut { return current }
    if let queue = fanOuts[ObjectIdentifier(fanOut)] { return queue }
    let queue = spare ?? FanOutQueue(fanOut, route: route, outliers: outliers)
    spare = nil
    queue.reuse(for: fanOut, isOutlier: outliers.contains(fanOut))
    fanOuts[ObjectIdentifier(fanOut)] = queue
    add(queue)
    return queue
  }

  private func add(_ queue: FanOutQueue) {
    if !queue.fanOut.limits.isEmpty { limited += 1 }
    let index = queue.trafficClass.rawValue
    let hasTurn = turns[index].last.map { $0 === current } ?? false
    turns[index].insert(queue, at: hasTurn ? turns[index].count - 1 : turns[index].count)
  }

  private func remove(_ queue: FanOutQueue) {
    if current === queue { current = nil }
    let index = queue.trafficClass.rawValue
    guard let turn = turns[index].lastIndex(where: { $0 === queue }) else { return }
    turns[index].remove(at: turn)
    if !queue.fanOut.limits.isEmpty { limited -= 1 }
  }

  private func forget(_ queue: FanOutQueue) {
    remove(queue)
    fanOuts[ObjectIdentifier(queue.fanOut)] = nil
    queue.clear()
    spare = queue
  }

  /// Sorts fan-outs again, because others are outliers than before.
  func classify() {
    for queue in Array(all) {
      let trafficClass = FanOutQueue.TrafficClass(
        queue.fanOut, isOutlier: outliers.contains(queue.fanOut))
      guard trafficClass != queue.trafficClass else { continue }
      remove(queue)
      queue.trafficClass = trafficClass
      add(queue)
    }
  }

  // MARK: what segments wait for

  /// Whether `SegmentTally.unsent` counts what a segment has here.
  func counts(_ tally: SegmentTally) -> Bool {
    isOpen && !(tally.mayStraggle && (yields || outliers.contains(tally.fanOut)))
  }

  /// Pushes have left the queue, for a connection or for good.
  /// - Parameter push: one of them; the others are of the same batch and have been through as much.
  func left(_ push: ReadyPush, count: Int = 1) {
    if push.isFirst, counts(push.tally) { push.tally.noLongerUnsent(count) }
  }

  func set(open: Bool, yields: Bool) {
    guard open != isOpen || yields != self.yields else { return }
    let before = firsts
    isOpen = open
    self.yields = yields
    recount(since: before)
  }

  /// Pushes of a segment that were not sent since they were admitted.
  struct Firsts {
    let tally: SegmentTally
    let count: Int
    let areCounted: Bool
  }

  var firsts: [Firsts] {
    let refused = refused.filter(\.isFirst).map { (tally: $0.tally, count: 1) }
    return (refused + all.flatMap(\.firsts)).map {
      Firsts(tally: $0.tally, count: $0.count, areCounted: counts($0.tally))
    }
  }

  /// A condition of `counts` has changed.
  func recount(since before: [Firsts]) {
    for firsts in before where firsts.areCounted != counts(firsts.tally) {
      if firsts.areCounted {
        firsts.tally.noLongerUnsent(firsts.count)
      } else {
        firsts.tally.willSend(firsts.count)
      }
    }
  }
}
