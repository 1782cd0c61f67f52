import Model

/// The pushes of one topic and environment that are to be sent: fan-outs take turns. Those whose
/// credentials were refused stand for themselves: they go first when credentials are known to be
/// good, last when another push should ask.
struct ReadyQueue {
  private let destination: Destination
  private let stuck: StuckFanOuts
  /// Of the fan-outs that have pushes here beside those that were refused.
  private var lines: [ObjectIdentifier: FanOutLine] = [:]
  private var turns = FanOutTurns()
  private var refused: [ReadyPush] = []
  /// One that is empty, for the next fan-out.
  private var spare: FanOutLine?
  /// Of all that are here.
  private(set) var count = 0

  init(destination: Destination, stuck: StuckFanOuts = StuckFanOuts()) {
    self.destination = destination
    self.stuck = stuck
  }

  /// Whether one of them was not refused.
  var hasOthers: Bool { count > refused.count }

  /// A push that was in flight in a lost connection is not for this queue.
  private static func isOurs(
    _ entry: PushBatch.Entry, _ destination: Destination
  ) -> Bool {
    entry.destination == destination && entry.history.losses == 0
  }

  /// Is sent in the batch's order: no earlier try of it, here or in another segment, was refused
  /// for our credentials.
  static func isOrdinary(_ entry: PushBatch.Entry, for destination: Destination) -> Bool {
    isOurs(entry, destination) && entry.history.refusals == 0
  }

  // MARK: what is here

  /// When the first batch came that is not all sent; nil when none waits. What gets nowhere, or
  /// has reached a limit, says nothing of how long others wait.
  var oldest: UInt64? {
    lines.values.lazy.filter { $0.kind != .stuck && !$0.fanOut.isShort }.compactMap(\.oldest)
      .min()
  }

  /// More could be sent: fan-outs that limits hold up say so.
  func lack() { turns.lack() }

  /// Whether the limits of fan-outs let something go.
  var mayGo: Bool { turns.mayGo || !refused.isEmpty }

  /// Pushes of fan-outs that are not held up by a limit.
  var sendable: Int {
    guard turns.mayBeHeldUp else { return count }
    return lines.values.reduce(refused.count) { $0 + ($1.mayGo ? $1.count : 0) }
  }

  /// Fan-outs that have pushes here, and their new pushes, of those that share a room.
  func sharing(_ room: FanOutLine.Room) -> (fanOuts: Int, fresh: Int) {
    var sum = (fanOuts: 0, fresh: 0)
    for line in lines.values where line.room == room {
      sum.fanOuts += 1
      sum.fresh += line.freshCount
    }
    return sum
  }

  /// Pushes of a fan-out.
  func count(of fanOut: FanOut) -> Int { lines[ObjectIdentifier(fanOut)]?.count ?? 0 }

  func contains(_ tally: SegmentTally) -> Bool {
    lines[ObjectIdentifier(tally.fanOut)]?.contains(tally) == true
      || refused.contains { $0.tally === tally }
  }

  /// How many pushes of each batch are here that were not sent since they were admitted.
  var firsts: [(tally: SegmentTally, count: Int)] {
    refused.filter(\.isFirst).map { (tally: $0.tally, count: 1) }
      + turns.all.flatMap(\.firsts)
  }

  // MARK: coming

  /// Takes pushes of `batch` that are for this environment, `limit` at most.
  /// - Returns: how many, and the index behind the last that was looked at.
  mutating func append(
    _ batch: PushBatch, atMost limit: Int = .max, at now: UInt64 = 0
  ) -> (taken: Int, end: Int) {
    let entries = batch.entries
    var taken = 0
    var ordinary = 0
    var plain = 0
    var end = 0
    while end < entries.count {
      if Self.isOurs(entries[end], destination) {
        guard taken < limit else { break }
        taken += 1
        if Self.isOrdinary(entries[end], for: destination) {
          ordinary += 1
          if entries[end].history.isEmpty { plain += 1 }
        } else {
          refused.append(ReadyPush(batch: batch, index: end, history: entries[end].history))
        }
      }
      end += 1
    }
    if ordinary > 0 {
      line(of: batch.tally.fanOut)
        .append(batch, end: end, count: ordinary, isPlain: plain == end, at: now)
    }
    count += taken
    return (taken, end)
  }

  mutating func putBack(_ push: ReadyPush) {
    line(of: push.tally.fanOut).putBack(push)
    count += 1
  }

  /// For a push whose credentials were refused.
  mutating func putAside(_ push: ReadyPush) {
    refused.append(push)
    count += 1
  }

  // MARK: going

  /// What is sent next. It stays here until it is dropped; nothing else is done to the queue
  /// before.
  /// - Parameters:
  ///   - turn: pushes of a fan-out before it is another's turn.
  mutating func upcoming(
    atMost limit: Int, refusedFirst: Bool = true, turn: Int = RouteTopics.pushesPerTurn
  ) -> ReadyRun? {
    if refusedFirst, let push = refused.last { return ReadyRun(push, from: .refusedLast) }
    if let (line, left) = turns.next(length: turn) {
      return line.upcoming(atMost: min(limit, left))
    }
    // In turn: the same push must not be the only one that asks.
    return refused.first.map { ReadyRun($0, from: .refusedFirst) }
  }

  /// The first `sent` of what was upcoming have left.
  mutating func drop(_ run: ReadyRun, _ sent: Int) {
    guard sent > 0 else { return }
    switch run.place {
    case .refusedLast: refused.removeLast()
    case .refusedFirst: refused.removeFirst()
    case .returned, .batches:
      guard let line = lines[ObjectIdentifier(run.first.tally.fanOut)] else { return }
      if case .returned = run.place {
        line.dropReturned()
      } else {
        line.dropFresh(sent)
      }
      if turns.current === line { turns.took(sent) }
      if line.count == 0 { forget(line) }
    case .elsewhere: return
    }
    count -= sent
  }

  /// Takes one out, whether it may go or not.
  mutating func removeAny() -> ReadyPush? {
    let run =
      refused.last.map { ReadyRun($0, from: .refusedLast) }
      ?? turns.all.lazy.compactMap { $0.first(atMost: 1) }.first
    guard let run else { return nil }
    drop(run, 1)
    return run.first
  }

  /// Takes out the pushes whose event has expired at `milliseconds` since 1970.
  mutating func takeExpired(at milliseconds: Int64) -> [ReadyPush] {
    take { $0.headers.expiresAt <= milliseconds }
  }

  /// Takes out the pushes of one segment.
  mutating func take(of tally: SegmentTally) -> [ReadyPush] { take { $0.tally === tally } }

  private mutating func take(where isWanted: (PushBatch) -> Bool) -> [ReadyPush] {
    var taken: [ReadyPush] = []
    if !refused.isEmpty {
      taken = refused.filter { isWanted($0.batch) }
      refused.removeAll { isWanted($0.batch) }
    }
    for line in turns.all {
      taken += line.take(where: isWanted)
      if line.count == 0 { forget(line) }
    }
    count -= taken.count
    return taken
  }

  // MARK: lines

  private mutating func line(of fanOut: FanOut) -> FanOutLine {
    if let current = turns.current, current.fanOut === fanOut { return current }
    if let line = lines[ObjectIdentifier(fanOut)] { return line }
    let line = spare ?? FanOutLine(fanOut, destination: destination, stuck: stuck)
    spare = nil
    line.reuse(for: fanOut, isStuck: stuck.contains(fanOut))
    lines[ObjectIdentifier(fanOut)] = line
    turns.add(line)
    return line
  }

  /// Other fan-outs are stuck than before.
  mutating func sort() {
    for line in turns.all {
      let kind = FanOutLine.Kind(line.fanOut, isStuck: stuck.contains(line.fanOut))
      guard kind != line.kind else { continue }
      turns.remove(line)
      line.kind = kind
      turns.add(line)
    }
  }

  private mutating func forget(_ line: FanOutLine) {
    turns.remove(line)
    lines[ObjectIdentifier(line.fanOut)] = nil
    line.clear()
    spare = line
  }
}
