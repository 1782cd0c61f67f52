import Record
import Testing
import Watching

/// What a live view makes of a fan-out's hash.
@Suite struct FanOutRowTests {
  @Test(
    arguments: [
      ([:], nil, LiveState.running), (["brake": "paused"], nil, .paused),
      (["state": "incomplete", "brake": "paused"], nil, .paused),
      (["brake": "cancelled"], nil, .cancelled), (["state": "done"], nil, .done),
      (["state": "incomplete", "brake": "cancelled"], nil, .incomplete),
      (["state": "expired"], nil, .expired), (["state": "incomplete"], nil, .incomplete),
      (["waiting": "5"], 0.0, .waiting), (["waiting": "5"], 3.0, .running),
      (["waiting": "5"], nil, .running),
      (["waiting": "5", "segments": "2", "settled": "2"], 3.0, .waiting),
      (["state": "odd"], nil, .unknown),
    ] as [([String: String], Double?, LiveState)])
  func theStateIsOneWord(fields: [String: String], rate: Double?, state: LiveState) {
    #expect(row("e1", fields, rate: rate).state == state)
  }

  /// Another event's limit, whose id begins alike, is none of it.
  @Test func aLimitIsThatOfTheEvent() {
    let limits = ["event e11: 5 pushes a second", "app com.example.live: 100 pushes a second"]
    #expect(row("e1", [:], limits: limits).state == .running)
    #expect(row("e11", [:], limits: limits).state == .limited)
    #expect(row("e11", [:], limits: limits).why == "event e11: 5 pushes a second")
  }

  @Test func aPauseSaysByWhomSinceWhenAndWhy() {
    let fields = [
      "brake": "paused", "brake_by": "ada", "brake_ms": "\(noon - 240_000)",
      "brake_why": "wrong title",
    ]
    #expect(row("e1", fields).why == "by ada, 4 min ago: wrong title")
    #expect(row("e1", ["brake": "cancelled", "brake_why": "stream ended"]).why == "stream ended")
  }

  @Test func theTimeLeftFollowsFromTheRate() {
    #expect(row("e1", halfway, rate: 41_000).secondsLeft == 10)
    #expect(row("e1", halfway, rate: 0).secondsLeft == nil)
    #expect(row("e1", halfway).secondsLeft == nil)
    #expect(row("e1", halfway.merging(["state": "done"]) { $1 }, rate: 9).secondsLeft == nil)
  }

  /// Left: what stands still, then who has the least time to spare, then who has ended last.
  @Test func thoseAtRiskComeFirst() {
    let slow = halfway.merging(["expires_ms": "\(noon + 60_000)"]) { $1 }
    let rows = [
      row("ended-before", ["state": "done", "done_ms": "1"]),
      row("ended", ["state": "expired", "done_ms": "2"]),
      row("safe", halfway, rate: 41_000),
      row("new", ["expires_ms": "\(noon + 500_000)"]),
      row("tight", slow, rate: 41_000),
      row("late", slow, rate: 1_000),
      row("stuck", halfway, rate: 0),
    ]
    let order = FanOutRow.ordered(rows, now: noon).map(\.event)
    #expect(order == ["stuck", "late", "tight", "new", "safe", "ended", "ended-before"])
  }
}
