import EventLoop
import Model

/// The pushes of one fan-out in a `TopicQueue`. Pushes that came back take turns with new ones,
/// which go batch by batch in the order they came.
final class FanOutQueue {
  /// Fan-outs of one class take turns among themselves.
  enum TrafficClass: Int, CaseIterable {
    case small, large, outlier

    init(_ fanOut: FanOut, isOutlier: Bool) {
      self = isOutlier ? .outlier : (fanOut.isSmall ? .small : .large)
    }
  }

  private struct Range {
    let batch: PushBatch
    var next: Int
    let end: Int
    /// All of it takes this route, and none was ever sent.
    let isPlain: Bool
    /// Monotonic nanoseconds.
    let since: UInt64
  }

  private let route: UInt16
  private let outliers: Outliers
  private(set) var fanOut: FanOut
  var trafficClass: TrafficClass
  private var returned = Queue<ReadyPush>()
  private var ranges = Queue<Range>()
  /// A push that came back was the last that left.
  private var isNewOnesTurn = false
  /// Pushes that did not come back.
  private(set) var freshCount = 0

  init(_ fanOut: FanOut, route: UInt16, outliers: Outliers) {
    self.outliers = outliers
    self.fanOut = fanOut
    self.route = route
    trafficClass = TrafficClass(fanOut, isOutlier: false)
  }

  /// Fan-outs of one share take queue capacity from each other, and from no others. Nil: the share
  /// of those that a limit of pushes a second holds up.
  var share: TrafficClass? { fanOut.isShort ? nil : trafficClass }

  /// Pushes that may go now.
  private var allowance: Int {
    trafficClass == .outlier ? min(fanOut.allowance, outliers.allowance) : fanOut.allowance
  }
  var mayGo: Bool { allowance > 0 }
  var count: Int { freshCount + returned.count }

  /// When the batch came that is sent from next; nil when none waits.
  var oldest: UInt64? { ranges.first?.since }

  /// An empty queue serves another fan-out from now on.
  func reuse(for fanOut: FanOut, isOutlier: Bool) {
    self.fanOut = fanOut
    trafficClass = TrafficClass(fanOut, isOutlier: isOutlier)
  }

  /// Keeps no batch of which nothing is sent any more.
  func clear() {
    returned.removeAll()
    ranges.removeAll()
    isNewOnesTurn = false
  }

  /// Takes the pushes before `end`, `count` of which are sent in the batch's order.
  func append(_ batch: PushBatch, end: Int, count: Int, isPlain: Bool, at now: UInt64) {
    ranges.append(Range(batch: batch, next: 0, end: end, isPlain: isPlain, since: now))
    freshCount += count
  }

  func append(returned push: ReadyPush) { returned.append(push) }

  /// The next pushes; nil when nothing is here that may go.
  func upcoming(atMost limit: Int) -> ReadyRun? {
    let limit = min(limit, allowance)
    return limit > 0 ? first(atMost: limit) : nil
  }

  /// As `upcoming`, whether it may go or not.
  func first(atMost limit: Int) -> ReadyRun? {
    let back = returned.first
    if !isNewOnesTurn || ranges.isEmpty, let back { return ReadyRun(back, from: .returned) }
    while var range = ranges.first {
      if range.isPlain {
        let push = ReadyPush(batch: range.batch, index: range.next, history: PushHistory())
        return ReadyRun(push, count: min(limit, range.end - range.next), from: .batches)
      }
      var index = range.next
      while index < range.end, !isOrdinary(range.batch[index]) { index += 1 }
      guard index < range.end else {
        _ = ranges.popFirst()
        continue
      }
      range.next = index
      ranges.replaceFirst(by: range)
      let history = range.batch[index].history
      return ReadyRun(
        ReadyPush(batch: range.batch, index: index, history: history), from: .batches)
    }
    return back.map { ReadyRun($0, from: .returned) }
  }

  func dropReturned() {
    _ = returned.popFirst()
    isNewOnesTurn = true
  }

  func dropFresh(_ sent: Int) {
    isNewOnesTurn = false
    freshCount -= sent
    guard var range = ranges.first else { return }
    range.next += sent
    if range.next == range.end { _ = ranges.popFirst() } else { ranges.replaceFirst(by: range) }
  }

  func contains(_ tally: SegmentTally) -> Bool {
    ranges.contains { $0.batch.tally === tally } || returned.contains { $0.tally === tally }
  }

  /// How many pushes of each batch are here that were not sent since they were admitted.
  var firsts: [(tally: SegmentTally, count: Int)] {
    var found = returned.all.filter(\.isFirst).map { (tally: $0.tally, count: 1) }
    for range in ranges.all {
      let count = rest(of: range).count
      if count > 0 { found.append((range.batch.tally, count)) }
    }
    return found
  }

  func take(where isWanted: (PushBatch) -> Bool) -> [ReadyPush] {
    var taken = returned.all.filter { isWanted($0.batch) }
    if !taken.isEmpty { returned.remove { isWanted($0.batch) } }
    let wanted = ranges.all.filter { isWanted($0.batch) }
    for range in wanted {
      let rest = rest(of: range)
      freshCount -= rest.count
      taken += rest.map {
        ReadyPush(batch: range.batch, index: $0, history: range.batch.entries[$0].history)
      }
    }
    if !wanted.isEmpty { ranges.remove { isWanted($0.batch) } }
    return taken
  }

  private func isOrdinary(_ entry: PushBatch.Entry) -> Bool {
    TopicQueue.isOrdinary(entry, for: route)
  }

  private func rest(of range: Range) -> [Int] {
    let entries = range.batch.entries
    return (range.next..<range.end).filter { isOrdinary(entries[$0]) }
  }
}
