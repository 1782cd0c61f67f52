import EventLoop
import Model
import Record

/// One run of one segment in a lane, under a claim. Confined to its lane.
final class SegmentRun {
  /// While the last pushes in flight are answered, those among them that must wait leave.
  static let lingerStep: Duration = .milliseconds(200)

  let claim: Claim
  let tally: SegmentTally
  let progress: SegmentProgress
  /// Of a segment of stragglers.
  let index: StragglerIndex?
  /// That its stragglers are for.
  let destinations: Set<Destination>
  /// Segments of stragglers that this run has written, not settled yet.
  var written: [PlannedStragglers] = []
  /// The event had expired by Redis' clock when the segment was claimed.
  var isLate = false
  /// Another worker has the claim, or has settled the segment.
  private(set) var isLost = false
  /// Redis is told its outcomes: every push has one, and the settled mark may be this run's own.
  var isSettling = false
  /// Gives the segment's place to the next record; only the first call does.
  private var vacate: (() -> Void)?

  /// It left its place and counts among those that linger.
  var isLingering = false

  /// Of the record that it came in.
  var recordBytes = 0

  var segment: Segment { claim.segment }
  /// Stragglers that Kafka has not taken yet.
  var unwritten = 0
  /// Memory that it keeps: its batches, its record and, as large again, what was read of that, and
  /// the pushes that leave it.
  var keptBytes: Int {
    progress.unsettledBytes + 2 * recordBytes + (tally.notes?.keptBytes ?? 0)
      + (tally.stragglers.count + unwritten) * Self.stragglerBytes
      + tally.untold.notes.count * Self.newsBytes
  }

  /// A note and a piece of news about one token.
  private static let newsBytes = 640

  /// A user's and a device's name, and what came of the push so far, in memory and as a record.
  private static let stragglerBytes = 512
  var hasPlace: Bool { vacate != nil }

  init(
    claim: Claim, of fanOut: FanOut = FanOut(), loop: EventLoop, memory: BatchMemory,
    vacate: @escaping () -> Void
  ) {
    self.claim = claim
    self.vacate = vacate
    tally = SegmentTally(of: fanOut)
    progress = SegmentProgress(tally: tally, loop: loop, memory: memory)
    index = claim.segment.stragglers.map { StragglerIndex($0) }
    destinations = claim.segment.stragglers?.destinations ?? []
    tally.mayStraggle = index == nil
  }

  /// Whether pushes of it may have been sent that are not recorded, here or by whom it was taken
  /// from.
  var mayHaveSent: Bool { tally.firstPushAt > 0 || tally.mayHaveBeenSent }

  func leavePlace() {
    vacate?()
    vacate = nil
  }

  /// - Parameter asked: monotonic nanoseconds when the claim was asked for; it began no sooner.
  func holds(since asked: UInt64, for lifetime: Duration) {
    // A tenth less, for the difference between this clock's pace and that of Redis.
    tally.sendableUntil = asked &+ lifetime.nanoseconds / 10 * 9
  }

  /// What waits to be sent is not sent any more, whoever has it.
  func lose() {
    isLost = true
    tally.sendableUntil = 0
    progress.abandon()
  }

  enum Standing: CaseIterable { case goesOn, isAnothers, wasSettled }

  /// What Redis said when the claim was to be renewed. A run that settles goes on when it finds the
  /// segment settled: its mark may wait for replicas, and another's it hears of as it settles.
  func take(_ renewal: Renewal, asked: UInt64, lifetime: Duration) -> Standing {
    switch renewal {
    case .held:
      holds(since: asked, for: lifetime)
      return .goesOn
    case .settled where isSettling: return .goesOn
    case .settled:
      lose()
      return .wasSettled
    case .another:
      lose()
      return .isAnothers
    }
  }
}
