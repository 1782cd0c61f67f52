import EventLoop
import Model
import Testing

@testable import Deliver

/// What cannot be sent costs what can be sent nothing.
@Suite struct ObstacleTests {
  private func mixed(_ count: Int) -> [(destination: Destination, token: String)] {
    hexadecimal(count).enumerated().map { ($0 % 2 == 0 ? .production : .sandbox, $1) }
  }

  @Test func anUnreachableEnvironmentHoldsUpNobodyElse() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, sandbox: .refused) {
        $0.readyPushes = 100
        $0.closedAfter = .milliseconds(200)
      }
      defer { bed.stop() }
      await bed.until("production is open") { bed.stage.openConnections == 2 }
      let tallies = (0..<20).map { _ in SegmentTally() }
      for tally in tallies { await bed.stage.admit(bed.batch(mixed(100), tally)) }
      await bed.until("production is done") { tallies.allSatisfy { $0.accepted == 50 } }
      await bed.until("it is known") { bed.stage.obstacles.count == 1 }
      #expect(tallies.allSatisfy { $0.unsent == 0 })
      let obstacle = try #require(bed.stage.obstacles.first)
      #expect(obstacle.kind == .unreachable && obstacle.destination == .sandbox)
      #expect("\(obstacle)".hasPrefix("sandbox: unreachable ("))
      #expect(bed.stage.readyCount == 0)
      for tally in tallies {
        bed.stage.postponeWaiting(of: tally)
        #expect(tally.stragglers.count == 50 && tally.unsent == 0)
        #expect(tally.stragglers.allSatisfy { $0.member.hasPrefix("apns:sandbox:a.b:") })
        #expect(tally.obstacle == "\(obstacle)")
      }
      #expect(bed.settledBatches == 20)
    }
  }

  @Test func whatWaitsForAClosedRouteIsSentWhenItOpens() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.speaks = false }) {
        $0.closedAfter = .milliseconds(20)
        $0.connectTimeout = .milliseconds(600)
      }
      defer { bed.stop() }
      let tally = SegmentTally()
      var calls = 0
      tally.whenNothingIsUnsent = { calls += 1 }
      await bed.stage.admit(bed.batch(mixed(20).map { (.production, $0.token) }, tally))
      await bed.until("closed") { bed.stage.obstacles.count == 1 }
      #expect(tally.unsent == 0 && calls == 1)
      bed.server.speaks = true
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.accepted == 20 && tally.unsent == 0 && calls == 2)
      #expect(bed.stage.obstacles == [])
      let ended = bed.notices.count { if case .obstacleEnded = $0 { true } else { false } }
      #expect(ended == 1)
    }
  }

  @Test func aServerThatAnswersNothingHoldsUpItsOwnEnvironmentOnly() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, sandbox: .served) {
        $0.readyPushes = 100
        $0.streamsPerConnection = 20
        $0.stalledAfter = .milliseconds(200)
      }
      defer { bed.stop() }
      bed.sandbox.decide = { _ in .silence }
      let event = FanOut()
      let tallies = (0..<10).map { _ in SegmentTally(of: event) }
      for tally in tallies { await bed.stage.admit(bed.batch(mixed(100), tally)) }
      await bed.until("production is done") { tallies.allSatisfy { $0.accepted == 50 } }
      await bed.until("nothing is unsent") { tallies.allSatisfy { $0.unsent == 0 } }
      #expect(bed.stage.obstacles.map(\.kind) == [.unreachable])
    }
  }

  /// Silent connections are replaced over and over, and each new one takes pushes: that is no end
  /// of it. The first answer is.
  @Test(arguments: [20, 1000])
  func aServerThatAnswersNothingIsUnreachableUntilItAnswers(streams: Int) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.streamsPerConnection = streams
        $0.stalledAfter = .milliseconds(200)
        $0.requestTimeout = .milliseconds(200)
        $0.pingTimeout = .milliseconds(100)
        $0.tickInterval = .milliseconds(20)
      }
      defer { bed.stop() }
      bed.server.decide = { _ in .silence }
      func ended() -> Int {
        bed.notices.count { if case .obstacleEnded = $0 { true } else { false } }
      }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(hexadecimal(100).map { (.production, $0) }, tally))
      await bed.until("known") { bed.stage.obstacles.map(\.kind) == [.unreachable] }
      let opened = bed.stage.connectionCounts.opened
      await bed.until("replaced") { bed.stage.connectionCounts.opened > opened + 6 }
      #expect(bed.stage.obstacles.count == 1 && ended() == 0)
      bed.server.decide = { _ in .answer(200) }
      await bed.until("answered") { bed.stage.obstacles.isEmpty }
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(ended() == 1)
    }
  }

  @Test func atItsBoundAPushThatHasToWaitLeavesItsSegmentAtOnce() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, sandbox: .refused) {
        $0.closedAfter = .milliseconds(200)
        $0.waitingPushes = 30
      }
      defer { bed.stop() }
      await bed.until("production is open") { bed.stage.openConnections == 2 }
      let first = SegmentTally()
      await bed.stage.admit(bed.batch(mixed(100), first))
      await bed.until("closed") { bed.stage.obstacles.count == 1 }
      await bed.until("production") { first.accepted == 50 }
      #expect(first.stragglers.count == 20 && first.unsent == 0)
      let second = SegmentTally()
      await bed.stage.admit(bed.batch(mixed(40), second))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(second.accepted == 20 && second.stragglers.count == 20 && second.unsent == 0)
      #expect(second.pushes == 20 && second.settled == 20)
    }
  }

  @Test func pushesThatWaitForAnotherTryAreBoundedToo() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.waitingPushes = 30
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      bed.server.decide = { _ in .answer(503) }
      let tally = SegmentTally()
      let devices = mixed(100).map { (destination: Destination.production, token: $0.token) }
      await bed.stage.admit(bed.batch(devices, tally))
      await bed.until("answered") { bed.server.requests.count == 100 && bed.stage.inFlight == 0 }
      #expect(tally.stragglers.count == 70 && tally.unsent == 0)
      // No try that speaks against them: nobody's pushes are taken.
      #expect(tally.stragglers.allSatisfy { $0.history.tries > 0 && $0.history.suspicion == 0 })
      bed.stage.postponeWaiting(of: tally)
      #expect(tally.stragglers.count == 100 && bed.settledBatches == 1)
    }
  }

  @Test func topicsTakeTurnsForFreeStreams() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.connectionsPerRoute = 1
        $0.streamsPerConnection = 1
      }
      defer { bed.stop() }
      let devices = mixed(500).map { (destination: Destination.production, token: $0.token) }
      let large = SegmentTally()
      let small = SegmentTally()
      await bed.stage.admit(bed.batch(devices, large, topic: "large"))
      await bed.stage.admit(bed.batch(devices, large, topic: "also large"))
      await bed.stage.admit(bed.batch(Array(devices[0..<20]), small, topic: "small"))
      await bed.until("all are done") { bed.settledBatches == 3 }
      #expect(small.accepted == 20 && large.accepted == 1000)
      // By the order of the requests, which knows nothing of how often the test looked.
      let last = bed.server.requests.lastIndex { $0["apns-topic"] == "small" }
      #expect(try #require(last) < 200)
    }
  }

  @Test func aRefusedTopicHoldsUpNoOtherTopic() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.readyPushes = 50
        $0.credentialHold = .seconds(3600)
      }
      defer { bed.stop() }
      bed.server.decide = {
        $0["apns-topic"] == "refused"
          ? .answer(403, #"{"reason":"InvalidProviderToken"}"#) : .answer(200)
      }
      let refused = SegmentTally()
      let devices = mixed(200).map { (destination: Destination.production, token: $0.token) }
      await bed.stage.admit(bed.batch(devices, refused, topic: "refused"))
      await bed.stage.admit(bed.batch(devices, refused, topic: "refused"))
      await bed.until("held") { bed.stage.obstacles.count == 1 }
      let healthy = SegmentTally()
      await bed.stage.admit(bed.batch(devices, healthy, topic: "healthy"))
      await bed.until("all accepted") { healthy.accepted == 200 }
      #expect(refused.unsent == 0)
      #expect(
        bed.stage.obstacles.map(\.description) == ["production refused: InvalidProviderToken"])
      bed.stage.postponeWaiting(of: refused)
      await bed.until("nothing in flight") { bed.stage.inFlight == 0 }
      bed.stage.postponeWaiting(of: refused)
      #expect(refused.stragglers.count == 400 && refused.settled == 0)
      #expect(refused.obstacle == "production refused: InvalidProviderToken")
      #expect(refused.stragglers.contains { $0.history.refusals > 0 })
      #expect(bed.notices.holds == 1)
    }
  }

  /// A refusal puts a topic in doubt, and what would end the doubt is never answered.
  @Test func aDoubtThatNothingEndsHoldsUpNoOtherTopic() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.readyPushes = 50
        $0.streamsPerConnection = 20
        $0.closedAfter = .milliseconds(200)
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      var isRefused = false
      bed.server.decide = { request in
        guard request["apns-topic"] == "doubted" else { return .answer(200) }
        defer { isRefused = true }
        return isRefused ? .silence : .answer(403, #"{"reason":"InvalidProviderToken"}"#)
      }
      let devices = mixed(200).map { (destination: Destination.production, token: $0.token) }
      let first = SegmentTally()
      await bed.stage.admit(bed.batch([devices[0]], first, topic: "doubted"))
      await bed.until("refused") { isRefused && bed.stage.inFlight == 0 }
      let doubted = SegmentTally()
      await bed.stage.admit(bed.batch(devices, doubted, topic: "doubted"))
      let healthy = SegmentTally()
      await bed.stage.admit(bed.batch(devices, healthy, topic: "healthy"))
      await bed.until("all accepted") { healthy.accepted == 200 }
      await bed.until("parked") { doubted.unsent == 0 }
      #expect(bed.stage.inFlight <= 4)
      bed.stage.postponeWaiting(of: doubted)
      #expect(doubted.stragglers.count >= 196)
    }
  }
}
