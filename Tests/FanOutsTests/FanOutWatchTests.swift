import FanOuts
import Testing

@testable import Record
@testable import Terminal

@Suite struct FanOutWatchTests {
  private static let second: UInt64 = 1_000_000_000

  private func status(_ fields: [String: String]) -> FanOutStatus { FanOutStatus(fields: fields) }

  @Test(arguments: [
    (["state": "done"], ExitCode.ok), (["state": "incomplete"], .incomplete),
    (["state": "expired"], .incomplete), (["state": "done", "brake": "cancelled"], .cancelled),
    (["state": "incomplete", "brake": "cancelled"], .cancelled),
    (["state": "done", "brake": "paused"], .ok),
  ])
  func theEndSaysHowItWas(fields: [String: String], code: ExitCode) {
    var watch = FanOutWatch(limit: .seconds(60), at: 0)
    #expect(watch.look(status(fields), at: 1).end == code)
  }

  @Test(arguments: [
    ["state": "running"], ["state": "running", "brake": "paused"],
    ["state": "running", "brake": "cancelled"], ["state": "incomplete", "brake": "paused"],
    ["state": "scheduled"], ["state": "scheduled", "brake": "cancelled"],
  ])
  func whatGoesOnIsWatchedUntilTheTimeIsOver(fields: [String: String]) {
    var watch = FanOutWatch(limit: .seconds(60), at: Self.second)
    #expect(watch.look(status(fields), at: Self.second).end == nil)
    #expect(watch.look(status(fields), at: 61 * Self.second - 1).end == nil)
    #expect(watch.look(status(fields), at: 61 * Self.second).end == .timedOut)
    #expect(watch.giveUp(at: 61 * Self.second) == .timedOut)
  }

  @Test func anEventThatNobodyHasReadIsWaitedFor() {
    var watch = FanOutWatch(limit: .seconds(3_600), at: 0)
    #expect(watch.look(nil, at: 29 * Self.second).end == nil)
    #expect(watch.look(nil, at: 30 * Self.second).end == .unknown)
    #expect(watch.look(status(["state": "running"]), at: 31 * Self.second).end == nil)
    // Redis has lost it since: nobody waits for another worker to read it.
    #expect(watch.look(nil, at: 32 * Self.second).end == nil)
    var short = FanOutWatch(limit: .seconds(2), at: 0)
    #expect(short.look(nil, at: 2 * Self.second).end == .unknown)
  }

  @Test func aChangeIsToldOnce() {
    var watch = FanOutWatch(limit: .seconds(60), at: 0)
    let first = status(["state": "running", "settled": "1"])
    #expect(watch.look(nil, at: 0).isChange == false)
    #expect(watch.look(first, at: 1).isChange)
    #expect(!watch.look(first, at: 2).isChange)
    #expect(watch.look(status(["state": "running", "settled": "2"]), at: 3).isChange)
  }

  /// Segments are about as large as each other.
  @Test func theTotalFollowsFromTheSegmentsThatAreSettled() {
    func progress(_ fields: [String: String]) -> [Int?] {
      let all = fields.merging(["state": "running"]) { known, _ in known }
      let progress = status(all).progress
      return [progress.done, progress.total]
    }
    #expect(progress(["segments": "8"]) == [0, nil])
    #expect(progress(["segments": "8", "settled": "2", "pushes": "100"]) == [100, 400])
    #expect(
      progress(["segments": "8", "settled": "2", "pushes": "100", "waiting": "7"]) == [100, 407])
    // What stragglers hold waits, and is counted there.
    let stragglers = [
      "segments": "2", "stragglers": "31", "settled": "2", "pushes": "312", "waiting": "31",
    ]
    #expect(progress(stragglers) == [312, 343])
    #expect(
      progress(stragglers.merging(["settled": "20", "pushes": "330", "waiting": "13"]) { $1 })
        == [330, 343])
    #expect(progress(["state": "done", "segments": "8", "settled": "8", "pushes": "9"]) == [9, 9])
    #expect(progress(["segments": "-1", "settled": "1", "pushes": "\(Int.max)"])[0] == 1 << 52)
  }

  @Test func theNoteSaysWhatHoldsItUp() {
    let paused = status([
      "state": "running", "brake": "paused", "brake_why": "title", "segments": "8", "settled": "3",
      "waiting": "1200", "obstacle": "production: slow",
    ])
    #expect(
      FanOutWatch.note(of: paused)
        == "paused (title), 3 of 8 segments, 1,200 pushes wait: production: slow")
    #expect(FanOutWatch.note(of: status(["state": "done"])) == "done, 0 of 0 segments")
  }
}
