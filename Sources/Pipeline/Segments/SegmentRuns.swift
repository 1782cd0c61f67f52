import EventLoop
import Model
import Record

/// The segments that a lane works on, and which of them keep a place. Confined to its lane.
final class SegmentRuns {
  /// Lists that may be worked on without a place, and before all their pushes were tried.
  static let maximumWithoutPlace = 64

  private let limits: LaneLimits
  private let loop: EventLoop
  private let memory: BatchMemory
  private(set) var isStopped = false
  /// The lane stops soon.
  private(set) var isLeaving = false
  private var runs: [ObjectIdentifier: (number: Int, run: SegmentRun)] = [:]
  private var lastNumber = 0
  private var fanOuts: LaneFanOuts

  init(
    limits: LaneLimits, loop: EventLoop, pushLimits: @escaping (Event) -> [PushLimit] = { _ in [] }
  ) {
    self.limits = limits
    fanOuts = LaneFanOuts(limits: pushLimits)
    self.loop = loop
    memory = BatchMemory(maximum: limits.batchBytes)
  }

  /// In the order in which they began.
  var all: [SegmentRun] { runs.values.sorted { $0.number < $1.number }.map(\.run) }
  var count: Int { runs.count }
  /// The ids of their events.
  var eventIDs: Set<String> { Set(runs.values.map(\.run.segment.event.id)) }
  /// Of them, those that have a place.
  var places: Int { runs.values.count(where: \.run.hasPlace) }
  /// What its batches took at most since the lane began.
  var mostBatchBytes: Int { memory.mostBytes }
  /// Segments whose pushes were all tried and are not all settled.
  var lingering: Int { runs.values.count(where: \.run.isLingering) }

  /// - Parameter vacate: called when the run needs its place no longer, before it ends.
  func make(_ claim: Claim, recordBytes: Int, _ vacate: @escaping () -> Void) -> SegmentRun {
    let run = SegmentRun(
      claim: claim, of: fanOuts.fanOut(of: claim.segment), loop: loop, memory: memory,
      vacate: vacate)
    run.recordBytes = recordBytes
    return run
  }

  /// Nil when nothing of the event is known here.
  func fanOut(ofEvent id: String) -> FanOut? { fanOuts.fanOut(ofEvent: id) }

  func begin(_ run: SegmentRun) {
    lastNumber += 1
    runs[ObjectIdentifier(run)] = (lastNumber, run)
  }

  func end(_ run: SegmentRun) { runs[ObjectIdentifier(run)] = nil }

  func contains(_ run: SegmentRun) -> Bool { runs[ObjectIdentifier(run)]?.run === run }

  /// The lane stops soon: whoever waits for a segment looks again what there is to do.
  /// - Parameter postpone: takes out what a segment has in queues.
  func leave(_ postpone: (SegmentTally) -> Void) {
    isLeaving = true
    for run in all {
      postpone(run.tally)
      run.progress.wake()
    }
  }

  /// The lane stops: whoever waits for a segment goes on, and `check` throws.
  func stop() {
    isStopped = true
    for run in all { run.progress.abandon() }
  }

  /// Throws when the lane has stopped or another worker has the segment.
  func check(_ run: SegmentRun) throws {
    guard !isStopped, !run.isLost else { throw RetryUntilStopped.Stopped() }
  }

  /// Whether it may leave its place and wait for its last outcomes.
  func mayLinger(_ run: SegmentRun) -> Bool {
    let others = runs.values.lazy.map(\.run).filter {
      $0.isLingering && ($0.index == nil) == (run.index == nil)
    }
    guard others.count < limits.lingering else { return false }
    let bytes = others.reduce(run.keptBytes) { $0 + $1.keptBytes }
    return others.isEmpty || bytes <= limits.lingeringBytes
  }

  /// Lists that were begun before their route was found to be slow, or their fan-out to get
  /// nowhere, give up their places.
  func leavePlaces(whereAll isSlow: (PushRoute, FanOut) -> Bool) {
    let all = all
    var gone = all.count { $0.index != nil && !$0.hasPlace && !$0.isLingering }
    for run in all where run.index != nil && run.hasPlace {
      guard gone < Self.maximumWithoutPlace else { break }
      // Whose credentials are meant the app says, whatever the push type.
      let app = run.segment.event.app
      guard
        run.environments.allSatisfy({
          isSlow(PushRoute(environment: $0, topic: app), run.tally.fanOut)
        })
      else { continue }
      run.leavePlace()
      gone += 1
    }
  }
}

/// The fan-outs that a lane works on: the segments of an event share one for as long as one of them
/// is under way.
struct LaneFanOuts {
  private struct Entry {
    weak var fanOut: FanOut?
  }

  /// Of an event whose fan-out begins here.
  private let limits: (Event) -> [PushLimit]
  /// By the event's id.
  private var entries: [String: Entry] = [:]
  /// With so many, those that ended are forgotten.
  private var most = LaneFanOuts.fewest
  private static let fewest = 64

  init(limits: @escaping (Event) -> [PushLimit] = { _ in [] }) { self.limits = limits }

  var count: Int { entries.count }

  func fanOut(ofEvent id: String) -> FanOut? { entries[id]?.fanOut }

  mutating func fanOut(of segment: Segment) -> FanOut {
    let id = segment.event.id
    if let known = entries[id]?.fanOut { return known }
    if entries.count >= most {
      entries = entries.filter { $0.value.fanOut != nil }
      most = max(Self.fewest, 2 * entries.count)
    }
    let fanOut = FanOut(isSmall: segment.isOfSmall, limits: limits(segment.event))
    entries[id] = Entry(fanOut: fanOut)
    return fanOut
  }
}
