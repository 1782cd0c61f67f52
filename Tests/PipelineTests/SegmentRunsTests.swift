import EventLoop
import Model
import Record
import Testing

@testable import Pipeline

/// Which segments keep a slot of their lane.
@Suite struct SegmentRunsTests {
  private static let event = Event(
    id: "e1", app: "a.b", streamer: "s1", stream: "b1", template: "go-live", occurredAt: 0,
    expiresAt: 0, fields: [:], document: [])
  private static let list = StragglerList(
    id: "plain~01", parent: "plain",
    pushes: [Straggler(user: "u1", member: "apns:production:a.b:ff", history: PushHistory())])

  private let loop = EventLoop(name: "test")

  private func run(_ slice: Segment.Slice, recordBytes: Int = 0) -> SegmentRun {
    let claim = Claim(
      segment: Segment(event: Self.event, slice: slice, count: 1), owner: "w/1/0.1")
    return SegmentRun(
      claim: claim, recordBytes: recordBytes, slot: LaneSlot {}, loop: loop, memory: unbounded)
  }

  private func plain(_ recordBytes: Int = 0) -> SegmentRun {
    run(.plain(key: "k"), recordBytes: recordBytes)
  }

  private func stragglers() -> SegmentRun { run(.stragglers(Self.list)) }

  private func runs(awaiting: Int = 2, bytes: Int = 1_000) -> SegmentRuns {
    var limits = LaneLimits()
    limits.awaitingAnswers = awaiting
    limits.awaitingBytes = bytes
    return SegmentRuns(limits: limits, loop: loop)
  }

  private func awaitAnswers(_ run: SegmentRun, in runs: SegmentRuns) {
    runs.begin(run)
    run.lead(to: .awaitingAnswers(.whole))
    run.slot.release()
  }

  @Test func knowsWhatRuns() {
    defer { loop.stop() }
    let runs = runs()
    let (first, second) = (plain(), plain())
    runs.begin(first)
    runs.begin(second)
    #expect(runs.contains(first) && runs.all.count == 2)
    runs.end(first)
    #expect(!runs.contains(first) && runs.contains(second))
    #expect(runs.awaitingAnswers == 0)
    second.lead(to: .awaitingAnswers(.whole))
    #expect(runs.awaitingAnswers == 1)
  }

  @Test func soManyAwaitAnswersAndAsManyListsOfStragglers() {
    defer { loop.stop() }
    let runs = runs(awaiting: 2)
    awaitAnswers(plain(), in: runs)
    #expect(runs.mayReleaseSlot(plain()))
    awaitAnswers(plain(), in: runs)
    #expect(!runs.mayReleaseSlot(plain()))
    #expect(runs.mayReleaseSlot(stragglers()))
    awaitAnswers(stragglers(), in: runs)
    awaitAnswers(stragglers(), in: runs)
    #expect(!runs.mayReleaseSlot(stragglers()))
  }

  /// A record counts twice, for what was read of it.
  @Test func whoAwaitsAnswersIsBoundedInMemoryButOneMayAlways() {
    defer { loop.stop() }
    let runs = runs(awaiting: 10, bytes: 1_000)
    #expect(runs.mayReleaseSlot(plain(5_000)))
    awaitAnswers(plain(300), in: runs)
    #expect(runs.mayReleaseSlot(plain(200)))
    #expect(!runs.mayReleaseSlot(plain(201)))
  }

  @Test func listsOfSlowRoutesReleaseTheirSlotsAsManyAsAreBearable() {
    defer { loop.stop() }
    let runs = runs()
    let others = plain()
    runs.begin(others)
    let lists = (0...SegmentRuns.maximumWithoutSlot).map { _ in stragglers() }
    for list in lists { runs.begin(list) }
    runs.releaseSlots { _, _ in false }
    #expect(lists.allSatisfy { $0.slot.isHeld })
    runs.releaseSlots { route, _ in route.destination == .production }
    #expect(lists.count(where: \.slot.isHeld) == 1)
    runs.releaseSlots { _, _ in true }
    #expect(lists.count(where: \.slot.isHeld) == 1 && others.slot.isHeld)
    // Who has settled makes room for the next.
    if let gone = lists.first(where: { !$0.slot.isHeld }) { runs.end(gone) }
    runs.releaseSlots { _, _ in true }
    #expect(lists.allSatisfy { !$0.slot.isHeld })
  }
}
