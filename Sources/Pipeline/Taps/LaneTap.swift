import EventLoop
import Model
import Record
import Telemetry
import Text
import Threads

/// The samples a second that a worker may take, of all its lanes together. Asked only about
/// outcomes that somebody wants to see.
final class TapBudget: Sendable {
  private struct State {
    var perSecond = 0.0
    var bucket = TokenBucket()
  }

  private let state = ThreadLock(State())

  /// The worker's share; at most a second's worth is saved up, and one sample at least.
  var perSecond: Double {
    get { state.withLock { $0.perSecond } }
    set { state.withLock { $0.perSecond = newValue } }
  }

  /// Takes one sample.
  /// - Parameter now: monotonic nanoseconds.
  /// - Returns: nil when it may be taken, else for how many nanoseconds none may.
  func take(at now: UInt64) -> UInt64? {
    state.withLock { state in
      guard state.perSecond > 0 else { return 1_000_000_000 }
      state.bucket.fill(state.perSecond, burst: max(1, state.perSecond), at: now)
      guard state.bucket.tokens >= 1 else { return state.bucket.wait(state.perSecond, at: now) }
      state.bucket.take()
      return nil
    }
  }
}

/// Samples the outcomes of a lane for those who tap, and appends them to Redis beside the lane's
/// work: one write at a time, and samples beyond `maximumPending` are dropped. Confined to its
/// lane.
final class LaneTap {
  /// Samples that wait for the write before them.
  static let maximumPending = 64

  private struct Order {
    let request: TapRequest
    let key: TokenLabelKey
    let budget: TapBudget
  }

  private let loop: EventLoop
  private let record: RecordStage
  private let counters: WorkerCounters
  private let worker: String
  private let wallClock: () -> Int64
  private var order: Order?
  /// Monotonic nanoseconds; the budget has nothing before.
  private var closedUntil: UInt64 = 0
  private var pending: [TapSample] = []
  private var isWriting = false

  init(
    loop: EventLoop, record: RecordStage, counters: WorkerCounters, worker: String,
    wallClock: @escaping () -> Int64
  ) {
    self.loop = loop
    self.record = record
    self.counters = counters
    self.worker = worker
    self.wallClock = wallClock
  }

  /// Takes what taps want now; nil when nobody taps any more.
  func set(_ request: TapRequest?, _ budget: TapBudget) {
    order = request.map {
      Order(request: $0, key: TokenLabelKey(secret: Array($0.secret.utf8)), budget: budget)
    }
    closedUntil = 0
  }

  /// The observer of a segment's outcomes; nil where no tap is about its event.
  func observer(of event: Event) -> (any OutcomeObserver)? {
    guard let order else { return nil }
    let filters = order.request.filters.filter {
      $0.concerns(event: event.id, streamer: event.streamer)
    }
    return filters.isEmpty ? nil : SegmentTap(self, event, filters)
  }

  /// Whether the budget may have a sample.
  fileprivate var isOpen: Bool { loop.now >= closedUntil }

  fileprivate func take(_ push: SettledPush, of event: Event, _ filters: [TapFilter]) {
    let now = loop.now
    guard isOpen, let order else { return }
    let platform = push.destination?.platform.name
    guard filters.contains(where: { $0.takes(push.outcome, platform: platform) }) else { return }
    if let wait = order.budget.take(at: now) {
      closedUntil = now &+ wait
      return
    }
    guard pending.count < Self.maximumPending else { return counters.add(.tapSamplesDropped) }
    let milliseconds = push.sentAt > 0 ? Double(now &- push.sentAt) / 1_000_000 : nil
    pending.append(
      TapSample(
        at: wallClock(), event: event.id, streamer: event.streamer, platform: platform ?? "",
        environment: push.destination?.environment ?? "", app: event.app,
        outcome: push.outcome.name, reason: push.outcome.reason ?? "", attempts: push.sends,
        milliseconds: milliseconds, token: push.token.isEmpty ? "" : order.key.digest(push.token),
        worker: worker))
  }

  var hasSamples: Bool { !pending.isEmpty && !isWriting }

  /// Writes the samples that there are, unless others are on their way.
  func write() async {
    guard hasSamples else { return }
    let samples = pending
    pending = []
    isWriting = true
    defer { isWriting = false }
    do throws(RecordError) {
      try await record.append(samples)
      counters.add(.tapSamples, samples.count)
    } catch {
      counters.add(.tapSamplesDropped, samples.count)
    }
  }
}

/// The outcomes of one segment, on their way to those who tap.
private final class SegmentTap: OutcomeObserver {
  private let tap: LaneTap
  private let event: Event
  /// Those that are about the event.
  private let filters: [TapFilter]

  init(_ tap: LaneTap, _ event: Event, _ filters: [TapFilter]) {
    self.tap = tap
    self.event = event
    self.filters = filters
  }

  var isListening: Bool { tap.isOpen }

  func settled(_ push: SettledPush) { tap.take(push, of: event, filters) }
}
