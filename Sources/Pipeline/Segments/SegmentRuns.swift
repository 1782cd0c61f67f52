import EventLoop
import Model
import Record

/// The segments that a lane works on, and which of them keep a slot. Confined to its lane.
final class SegmentRuns {
  /// Lists that may be worked on without a slot, and before all their pushes were tried.
  static let maximumWithoutSlot = 64

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
  /// Of them, those that have a slot.
  var slots: Int { runs.values.count(where: \.run.slot.isHeld) }
  /// The most that its batches took since the lane began.
  var mostBatchBytes: Int { memory.mostBytes }
  /// Segments whose pushes were all tried and are not all settled.
  var awaitingAnswers: Int { runs.values.count(where: \.run.machine.hasLeftSlot) }

  func make(_ claim: Claim, recordBytes: Int, _ slot: LaneSlot) -> SegmentRun {
    SegmentRun(
      claim: claim, of: fanOuts.fanOut(of: claim.segment), recordBytes: recordBytes, slot: slot,
      loop: loop, memory: memory)
  }

  /// Nil when nothing of the event is known here.
  func fanOut(ofEvent id: String) -> FanOut? { fanOuts.fanOut(ofEvent: id) }

  func begin(_ run: SegmentRun) {
    lastNumber += 1
    runs[ObjectIdentifier(run)] = (lastNumber, run)
  }

  func end(_ run: SegmentRun) { runs[ObjectIdentifier(run)] = nil }

  func contains(_ run: SegmentRun) -> Bool { runs[ObjectIdentifier(run)]?.run === run }

  /// The lane stops soon: whoever waits for a segment goes on, and finds out what there is to do.
  /// - Parameter deferAll: takes out what a segment has in queues.
  func leave(_ deferAll: (SegmentTally) -> Void) {
    isLeaving = true
    for run in all {
      deferAll(run.tally)
      run.wake()
    }
  }

  /// The lane stops: whoever waits for a segment goes on, and `SegmentRun.check` throws.
  func stop() {
    isStopped = true
    for run in all { run.take(.laneStopped) }
  }

  /// Whether it may leave its slot to the next record while it awaits its last answers.
  func mayReleaseSlot(_ run: SegmentRun) -> Bool {
    let others = runs.values.lazy.map(\.run).filter {
      $0.machine.hasLeftSlot && ($0.index == nil) == (run.index == nil)
    }
    guard others.count < limits.awaitingAnswers else { return false }
    let bytes = others.reduce(run.keptBytes) { $0 + $1.keptBytes }
    return others.isEmpty || bytes <= limits.awaitingBytes
  }

  /// Lists that were begun before their route was found to be slow, or their fan-out to get
  /// nowhere, release their slots.
  func releaseSlots(whereAll isSlow: (PushRoute, FanOut) -> Bool) {
    let all = all
    var gone = all.count { $0.index != nil && !$0.slot.isHeld && !$0.machine.hasLeftSlot }
    for run in all where run.index != nil && run.slot.isHeld {
      guard gone < Self.maximumWithoutSlot else { break }
      // The app decides whose credentials are meant, whatever the push type.
      let app = run.segment.event.app
      guard
        run.destinations.allSatisfy({
          isSlow(PushRoute(destination: $0, topic: app), run.tally.fanOut)
        })
      else { continue }
      run.slot.release()
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
