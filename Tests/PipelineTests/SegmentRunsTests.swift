import EventLoop
import Model
import Record
import Testing

@testable import Pipeline

/// Which segments keep a place of their lane.
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
    let run = SegmentRun(claim: claim, loop: loop, memory: unbounded, vacate: {})
    run.recordBytes = recordBytes
    return run
  }

  private func plain(_ recordBytes: Int = 0) -> SegmentRun {
    run(.plain(key: "k"), recordBytes: recordBytes)
  }

  private func stragglers() -> SegmentRun { run(.stragglers(Self.list)) }

  private func runs(lingering: Int = 2, bytes: Int = 1_000) -> SegmentRuns {
    var limits = LaneLimits()
    limits.lingering = lingering
    limits.lingeringBytes = bytes
    return SegmentRuns(limits: limits, loop: loop)
  }

  private func linger(_ run: SegmentRun, in runs: SegmentRuns) {
    runs.begin(run)
    run.isLingering = true
    run.leavePlace()
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
    #expect(runs.lingering == 0)
    second.isLingering = true
    #expect(runs.lingering == 1)
  }

  @Test func soManyLingerAndAsManyListsOfStragglers() {
    defer { loop.stop() }
    let runs = runs(lingering: 2)
    linger(plain(), in: runs)
    #expect(runs.mayLinger(plain()))
    linger(plain(), in: runs)
    #expect(!runs.mayLinger(plain()))
    #expect(runs.mayLinger(stragglers()))
    linger(stragglers(), in: runs)
    linger(stragglers(), in: runs)
    #expect(!runs.mayLinger(stragglers()))
  }

  /// A record counts twice, for what was read of it.
  @Test func whatLingersIsBoundedInMemoryButOneMayAlways() {
    defer { loop.stop() }
    let runs = runs(lingering: 10, bytes: 1_000)
    #expect(runs.mayLinger(plain(5_000)))
    linger(plain(300), in: runs)
    #expect(runs.mayLinger(plain(200)))
    #expect(!runs.mayLinger(plain(201)))
  }

  @Test func listsOfSlowRoutesLeaveTheirPlacesAsManyAsAreBearable() {
    defer { loop.stop() }
    let runs = runs()
    let others = plain()
    runs.begin(others)
    let lists = (0...SegmentRuns.maximumWithoutPlace).map { _ in stragglers() }
    for list in lists { runs.begin(list) }
    runs.leavePlaces { _, _ in false }
    #expect(lists.allSatisfy { $0.hasPlace })
    runs.leavePlaces { route, _ in route.destination == .production }
    #expect(lists.count(where: \.hasPlace) == 1)
    runs.leavePlaces { _, _ in true }
    #expect(lists.count(where: \.hasPlace) == 1 && others.hasPlace)
    // Who has settled makes room for the next.
    if let gone = lists.first(where: { !$0.hasPlace }) { runs.end(gone) }
    runs.leavePlaces { _, _ in true }
    #expect(lists.allSatisfy { !$0.hasPlace })
  }
}
