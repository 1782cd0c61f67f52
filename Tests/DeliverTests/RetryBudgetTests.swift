import EventLoop
import Model
import Testing

@testable import Deliver

/// How much of what is sent are further tries.
@Suite struct RetryBudgetTests {
  private func run(_ place: ReadyRun.Place, isAnotherTry: Bool = false) -> ReadyRun {
    let history = PushHistory(
      tries: isAnotherTry ? 1 : 0, losses: 0, refusals: 0, mayHaveArrived: false)
    return ReadyRun(
      ReadyPush(
        batch: .made(topic: "a.b", [.production], SegmentTally()), index: 0, history: history),
      from: place)
  }

  @Test func oneOfTenIsAFurtherTry() {
    var budget = RetryBudget()
    var retries = 0
    for _ in 0..<1_000 {
      if budget.mayRetry {
        budget.sent(run(.returned, isAnotherTry: true), 1)
        retries += 1
      } else {
        budget.sent(run(.batches), 1)
      }
    }
    // Those that were saved up at first, and a tenth of all others.
    #expect(retries == 32 + (1_000 - 32) / 10)
  }

  @Test func whatIsNotUsedIsSavedUpToABound() {
    var budget = RetryBudget()
    budget.sent(run(.batches), 1_000_000)
    var saved = 0
    while budget.mayRetry, saved < 1_000 {
      budget.sent(run(.returned, isAnotherTry: true), 1)
      saved += 1
    }
    #expect(saved == 32)
    // What went without asking is no debt. Stragglers come in their turn, and one that a server
    // sent back unseen is a first try still.
    budget.sent(run(.returned, isAnotherTry: true), 1)
    budget.sent(run(.batches, isAnotherTry: true), 4)
    budget.sent(run(.batches), 4)
    #expect(!budget.mayRetry)
    budget.sent(run(.returned), 1)
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

  /// Beside what has its turn, also of a fan-out that has both.
  @Test func whatCameBackGoesByTurns() throws {
    var queue = ReadyQueue(environment: .production)
    let tallies = (0..<3).map { _ in SegmentTally(of: FanOut()) }
    let history = PushHistory(tries: 1, losses: 0, refusals: 0, mayHaveArrived: false)
    for (index, tally) in tallies.enumerated() {
      let batch = PushBatch.made(
        topic: "a.b", [APNsEnvironment](repeating: .production, count: 20), tally)
      for push in 0..<10 * (index + 1) where push < 20 {
        queue.putBack(ReadyPush(batch: batch, index: push, history: history))
      }
    }
    let fresh = [APNsEnvironment](repeating: .production, count: 10)
    _ = queue.append(.made(topic: "a.b", fresh, tallies[0]))
    #expect(queue.returnedCount == 50)
    var order: [Int] = []
    while let run = queue.upcomingReturned(.none) {
      order.append(tallies.firstIndex { $0 === run.first.tally } ?? -1)
      queue.drop(run, 1)
    }
    #expect(order.count == 50 && queue.returnedCount == 0 && queue.count == 10)
    for turn in 0..<10 { #expect(Set(order[3 * turn..<3 * turn + 3]) == [0, 1, 2]) }
  }

  /// What no server has seen waits for no budget, and behind nothing that is tried again.
  @Test func whatCameBackUnseenGoesFirst() {
    var queue = ReadyQueue(environment: .production)
    let tally = SegmentTally(of: FanOut())
    let batch = PushBatch.made(
      topic: "a.b", [APNsEnvironment](repeating: .production, count: 4), tally)
    let tried = PushHistory(tries: 1, losses: 0, refusals: 0, mayHaveArrived: false)
    for index in 0..<4 {
      let history = index < 2 ? tried : PushHistory()
      queue.putBack(ReadyPush(batch: batch, index: index, history: history))
    }
    var order: [Int] = []
    while let run = queue.upcomingReturned(.none, mayRetry: false) {
      order.append(run.first.index)
      queue.drop(run, 1)
    }
    #expect(order == [2, 3] && queue.count == 2 && queue.returnedCount == 2)
    let taken = queue.take(of: tally)
    #expect(taken.map(\.index) == [0, 1] && queue.count == 0 && queue.returnedCount == 0)
  }

  /// Who asks whether credentials are taken again has his turn while others have all the streams.
  @Test func aTopicInDoubtAsksThoughTheBudgetIsUsedUp() {
    let topics = RouteTopics(environment: .production)
    for (name, count) in [("a", 500), ("b", 5)] {
      let environments = [APNsEnvironment](repeating: .production, count: count)
      _ = topics.topic(named: name).queue.append(.made(topic: name, environments, SegmentTally()))
    }
    _ = topics.topic(named: "b").gate.refused(refusals: 1, sentAt: 0, at: 0, hold: 100)
    let now: UInt64 = 1_000_000_000
    var asked = 0
    for _ in 0..<10 {
      guard let (topic, left) = topics.next(at: now, TurnFilter(onlyFresh: true)),
        let run = topic.upcoming(atMost: left, TurnFilter(onlyFresh: true))
      else { break }
      if topic.name == "b" { asked += 1 }
      topic.queue.drop(run, run.count)
      topics.took(left)
    }
    #expect(asked > 0)
  }

  /// Of some of an event's devices so many tries are refused, one behind the other: ten are all
  /// that there are.
  /// - Parameter ahead: so many others wait at a time, for the first time all of them.
  private func run(
    failing count: Int, refusals: Int = 10, ahead: Int, waitingPushes: Int
  ) async throws -> (share: Double, stragglers: Int) {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.connectionsPerRoute = 1
        $0.streamsPerConnection = 50
        $0.waitingPushes = waitingPushes
        $0.retry = RetryPolicy(initial: .milliseconds(1), maximum: .milliseconds(1))
      }
      defer { bed.stop() }
      var refused: [String: Int] = [:]
      bed.server.decide = { request in
        guard request.token.hasSuffix("f"), refused[request.token, default: 0] < refusals else {
          return .answer(200)
        }
        refused[request.token, default: 0] += 1
        return .answer(429)
      }
      let failing = (0..<count).map { "5" + String($0 + 4096, radix: 16) + "f" }
      let tally = SegmentTally(of: bed.tally.fanOut)
      let fresh = (0..<8_000).map { "6" + String($0 + 65_536, radix: 16) + "0" }
      var requests = 0
      for start in stride(from: 0, to: fresh.count, by: 200) {
        // As a segment does, which waits for room: a loop that is late sends them all the same.
        // Among the others: a server that gives nothing but refusals is spared.
        let part = start / 200
        let some = failing[min(part * count / 10, count)..<min((part + 1) * count / 10, count)]
        await bed.stage.admit(bed.batch(some.map { (.production, $0) }, tally))
        await bed.until("there is room") { start - bed.tally.accepted <= ahead }
        await bed.stage.admit(bed.batch(Array(fresh[start..<start + 200])))
        requests = bed.server.requests.count
      }
      let again = bed.server.requests[..<requests].count { $0.token.hasSuffix("f") } - count
      await bed.until("all have an outcome") {
        bed.tally.accepted == fresh.count && tally.settled + tally.stragglers.count == count
      }
      return (Double(again) / Double(requests), tally.stragglers.count)
    }
  }

  @Test func devicesThatAreNeverTakenTakeATenth() async throws {
    let (share, stragglers) = try await run(failing: 400, ahead: 2_000, waitingPushes: 8_192)
    // A loop that is late sees somewhat more. Without a budget it is a third.
    #expect(share <= 0.13 && stragglers == 0)
  }

  /// They make room for each other instead of leaving. A loop that is late finds all of them
  /// answered at once: then those leave that do not fit.
  @Test func whereTheRoomIsScarceTheyGo() async throws {
    let (_, stragglers) = try await run(
      failing: 1_000, refusals: 3, ahead: 200, waitingPushes: 900)
    #expect(stragglers <= 1_000 - 900)
  }
}
