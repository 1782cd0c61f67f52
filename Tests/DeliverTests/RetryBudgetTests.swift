import EventLoop
import Model
import Testing

@testable import Deliver

/// How much of what is sent are further tries.
@Suite struct RetryBudgetTests {
  @Test func oneOfTenIsAFurtherTry() {
    var budget = RetryBudget()
    var retries = 0
    for _ in 0..<1_000 {
      if budget.mayRetry {
        budget.sent(1, areRetries: true)
        retries += 1
      } else {
        budget.sent(1, areRetries: false)
      }
    }
    // Those that were saved up at first, and a tenth of all others.
    #expect(retries == 32 + (1_000 - 32) / 10)
  }

  @Test func whatIsNotUsedIsSavedUpToABound() {
    var budget = RetryBudget()
    budget.sent(1_000_000, areRetries: false)
    var saved = 0
    while budget.mayRetry, saved < 1_000 {
      budget.sent(1, areRetries: true)
      saved += 1
    }
    #expect(saved == 32)
    // What went without asking is no debt.
    budget.sent(1_000, areRetries: true)
    budget.sent(9, areRetries: false)
    #expect(budget.mayRetry)
  }

  /// Two fan-outs, one of which has nothing but further tries.
  private func queue(fresh: Int, returned: Int) -> ReadyQueue {
    var queue = ReadyQueue(environment: .production)
    let (giant, failing) = (SegmentTally(of: FanOut()), SegmentTally(of: FanOut()))
    let batch = PushBatch.made(
      topic: "a.b", [APNsEnvironment](repeating: .production, count: returned), failing)
    let history = PushHistory(tries: 1, losses: 0, refusals: 0, mayHaveArrived: false)
    for index in 0..<returned {
      queue.putBack(ReadyPush(batch: batch, index: index, history: history))
    }
    _ = queue.append(
      .made(topic: "a.b", [APNsEnvironment](repeating: .production, count: fresh), giant))
    return queue
  }

  @Test func whoHasNothingElseIsPassedOver() {
    var queue = queue(fresh: 100, returned: 50)
    var sent = 0
    while let run = queue.upcoming(atMost: 7, TurnFilter(onlyFresh: true)) {
      #expect(!run.first.isAnotherTry)
      queue.drop(run, run.count)
      sent += run.count
    }
    #expect(sent == 100 && queue.count == 50)
    let rest = queue.upcoming(atMost: 7)
    #expect(rest?.first.isAnotherTry == true)
  }

  /// A twentieth of the devices is never taken. Each wants ten tries, one behind the other.
  private func run(waitingPushes: Int) async throws -> (share: Double, stragglers: Int) {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.connectionsPerRoute = 1
        $0.streamsPerConnection = 50
        $0.waitingPushes = waitingPushes
        $0.retry = RetryPolicy(initial: .milliseconds(1), maximum: .milliseconds(1))
      }
      defer { bed.stop() }
      bed.server.decide = { $0.token.hasSuffix("f") ? .answer(429) : .answer(200) }
      let failing = (0..<400).map { "5" + String($0 + 4096, radix: 16) + "f" }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(failing.map { (.production, $0) }, tally))
      let fresh = (0..<8_000).map { "6" + String($0 + 65_536, radix: 16) + "0" }
      var requests = 0
      for start in stride(from: 0, to: fresh.count, by: 200) {
        await bed.stage.admit(bed.batch(Array(fresh[start..<start + 200])))
        requests = bed.server.requests.count
      }
      let again = bed.server.requests[..<requests].count { $0.token.hasSuffix("f") } - 400
      await bed.until("all have an outcome") {
        bed.tally.accepted == fresh.count && tally.settled + tally.stragglers.count == 400
      }
      return (Double(again) / Double(requests), tally.stragglers.count)
    }
  }

  @Test func devicesThatAreNeverTakenTakeATenth() async throws {
    let (share, stragglers) = try await run(waitingPushes: 8_192)
    #expect(share <= 0.11 && stragglers == 0)
  }

  /// They make room for each other instead of leaving.
  @Test func whereTheRoomIsScarceTheyGo() async throws {
    let (_, stragglers) = try await run(waitingPushes: 600)
    #expect(stragglers == 0)
  }
}
