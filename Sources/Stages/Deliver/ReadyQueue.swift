import Model

/// The pushes of one topic and environment that are to be sent. Those that come back take turns
/// with new ones, which go batch by batch in the order they came. Those whose credentials were
/// refused stand apart: they go first when credentials are known to be good, last when another push
/// should ask.
struct ReadyQueue {
  private struct Range {
    let batch: PushBatch
    var next: Int
    let end: Int
    /// All of it is for us, and none was ever sent.
    let isPlain: Bool
    /// Monotonic nanoseconds.
    let since: UInt64
  }

  private let environment: APNsEnvironment
  /// Those before `returnedHead` have left.
  private var returned: [ReadyPush] = []
  private var returnedHead = 0
  private var refused: [ReadyPush] = []
  private var ranges: [Range] = []
  private var head = 0
  /// A push that came back was the last that left: those that come back take turns with new ones.
  private var isNewOnesTurn = false
  private(set) var count = 0

  init(environment: APNsEnvironment) { self.environment = environment }

  /// Whether a push beside those that were refused is here.
  var hasOthers: Bool { count > refused.count }

  /// A push that was in flight in a lost connection is not for this queue.
  private func isOurs(_ entry: PushBatch.Entry) -> Bool {
    entry.environment == environment && entry.history.losses == 0
  }

  /// Is sent in the batch's order: no earlier try of it, here or in another segment, was refused
  /// for our credentials.
  private func isOrdinary(_ entry: PushBatch.Entry) -> Bool {
    isOurs(entry) && entry.history.refusals == 0
  }

  /// When the batch came that is sent from next; nil when none waits.
  var oldest: UInt64? { head < ranges.count ? ranges[head].since : nil }

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
      if isOurs(entries[end]) {
        guard taken < limit else { break }
        taken += 1
        if isOrdinary(entries[end]) {
          ordinary += 1
          if entries[end].history.isEmpty { plain += 1 }
        } else {
          refused.append(ReadyPush(batch: batch, index: end, history: entries[end].history))
        }
      }
      end += 1
    }
    if ordinary > 0 {
      ranges.append(Range(batch: batch, next: 0, end: end, isPlain: plain == end, since: now))
    }
    count += taken
    return (taken, end)
  }

  mutating func putBack(_ push: ReadyPush) {
    returned.append(push)
    count += 1
  }

  /// For a push whose credentials were refused.
  mutating func putAside(_ push: ReadyPush) {
    refused.append(push)
    count += 1
  }

  /// What is sent next. It stays here until it is dropped; nothing else is done to the queue
  /// before.
  mutating func upcoming(atMost limit: Int, refusedFirst: Bool = true) -> ReadyRun? {
    if refusedFirst, let push = refused.last { return ReadyRun(push, from: .refusedLast) }
    if returnedHead < returned.count, !isNewOnesTurn || head == ranges.count {
      return ReadyRun(returned[returnedHead], from: .returned)
    }
    while head < ranges.count {
      let range = ranges[head]
      if range.isPlain {
        let push = ReadyPush(batch: range.batch, index: range.next, history: PushHistory())
        return ReadyRun(push, count: min(limit, range.end - range.next), from: .batches)
      }
      var index = range.next
      while index < range.end, !isOrdinary(range.batch[index]) { index += 1 }
      guard index < range.end else {
        dropHead()
        continue
      }
      ranges[head].next = index
      let history = range.batch[index].history
      return ReadyRun(
        ReadyPush(batch: range.batch, index: index, history: history), from: .batches)
    }
    // In turn: the same push must not be the only one that asks.
    return refused.first.map { ReadyRun($0, from: .refusedFirst) }
  }

  /// The first `sent` of what was upcoming have left.
  mutating func drop(_ run: ReadyRun, _ sent: Int) {
    guard sent > 0 else { return }
    switch run.place {
    case .refusedLast: refused.removeLast()
    case .returned:
      returnedHead += 1
      if returnedHead == returned.count || returnedHead > 512 { forgetReturned() }
      isNewOnesTurn = true
    case .refusedFirst: refused.removeFirst()
    case .batches:
      isNewOnesTurn = false
      ranges[head].next += sent
      if ranges[head].next == ranges[head].end { dropHead() }
    case .elsewhere: return
    }
    count -= sent
  }

  mutating func next(refusedFirst: Bool = true) -> ReadyPush? {
    guard let run = upcoming(atMost: 1, refusedFirst: refusedFirst) else { return nil }
    drop(run, 1)
    return run.first
  }

  /// Takes out the pushes whose event has expired at `milliseconds` since 1970.
  mutating func takeExpired(at milliseconds: Int64) -> [ReadyPush] {
    take { $0.headers.expiresAt <= milliseconds }
  }

  /// Takes out the pushes of one segment.
  mutating func take(of tally: SegmentTally) -> [ReadyPush] { take { $0.tally === tally } }

  func contains(_ tally: SegmentTally) -> Bool {
    ranges[head...].contains { $0.batch.tally === tally }
      || (returned[returnedHead...] + refused).contains { $0.tally === tally }
  }

  /// How many pushes of each batch are here that were not sent since they were admitted.
  var firsts: [(tally: SegmentTally, count: Int)] {
    var found = (returned[returnedHead...] + refused).filter(\.isFirst).map {
      (tally: $0.tally, count: 1)
    }
    for range in ranges[head...] {
      let count = rest(of: range).count
      if count > 0 { found.append((range.batch.tally, count)) }
    }
    return found
  }

  private mutating func take(where isWanted: (PushBatch) -> Bool) -> [ReadyPush] {
    var taken: [ReadyPush] = []
    forgetReturned()
    if !returned.isEmpty {
      taken += returned.filter { isWanted($0.batch) }
      returned.removeAll { isWanted($0.batch) }
    }
    if !refused.isEmpty {
      taken += refused.filter { isWanted($0.batch) }
      refused.removeAll { isWanted($0.batch) }
    }
    if ranges[head...].contains(where: { isWanted($0.batch) }) {
      for range in ranges[head...] where isWanted(range.batch) {
        taken += rest(of: range).map {
          ReadyPush(batch: range.batch, index: $0, history: range.batch.entries[$0].history)
        }
      }
      ranges.removeFirst(head)
      head = 0
      ranges.removeAll { isWanted($0.batch) }
    }
    count -= taken.count
    return taken
  }

  private mutating func forgetReturned() {
    returned.removeFirst(returnedHead)
    returnedHead = 0
  }

  private func rest(of range: Range) -> [Int] {
    let entries = range.batch.entries
    return (range.next..<range.end).filter { isOrdinary(entries[$0]) }
  }

  private mutating func dropHead() {
    head += 1
    if head == ranges.count {
      ranges.removeAll(keepingCapacity: true)
      head = 0
    } else if head > 32 {
      ranges.removeFirst(head)
      head = 0
    }
  }
}
