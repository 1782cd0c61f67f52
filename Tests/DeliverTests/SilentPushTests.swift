import EventLoop
import Model
import Testing

@testable import Deliver

/// Pushes that a server does not answer, or late, while it answers others.
@Suite struct SilentPushTests {
  private static let lostOnce = PushHistory(
    tries: 0, losses: 1, refusals: 0, mayHaveArrived: true)

  private func devices(_ count: Int) -> [(environment: APNsEnvironment, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  private func late(_ count: Int) -> [String] {
    (0..<count).map { "00bad" + String($0, radix: 16) }
  }

  private func bed(_ loop: EventLoop) throws -> DeliverBed {
    try DeliverBed(loop) { $0.passedOverAfter = .milliseconds(50) }
  }

  /// They are given up once; then they are waited for together, and nobody behind them waits.
  @Test func whatAnswersLateIsAccepted() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      let late = late(16)
      var streams: [(FakeConnection, slot: Int32)] = []
      bed.server.decide = { [unowned server = bed.server] request in
        guard late.contains(request.token) else { return .answer(200) }
        if server.count(request.token) == 2 {
          streams.append((server.connections[request.connection], request.stream))
        }
        return .silence
      }
      let (tally, neighbours) = (SegmentTally(), SegmentTally())
      await bed.stage.admit(bed.batch(devices(100), neighbours))
      await bed.stage.admit(bed.batch(late.map { (.production, $0) }, tally))
      await bed.until("all are sent again") { streams.count == 16 }
      #expect(neighbours.accepted == 100)
      #expect(Set(streams.map(\.0.number)).count == 1)
      // Other pushes have other connections.
      let others = SegmentTally()
      await bed.stage.admit(bed.batch(devices(500), others))
      await bed.until("others are accepted") { others.accepted == 500 }
      // Longer than any push in ordinary traffic is waited for.
      await loop.wait(.milliseconds(600))
      #expect(bed.stage.inFlight == 16)
      for (connection, stream) in streams { connection.answer(stream: stream) }
      await bed.until("settled") { bed.settledBatches == 3 }
      #expect(tally.accepted == 16 && tally.rejections.isEmpty)
      #expect(late.allSatisfy { bed.server.count($0) == 2 })
    }
  }

  /// None of the others is taken, and each has its answer.
  @Test func whereOthersAreOnlyRefusedOneIsGivenUpAllTheSame() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.passedOverAfter = .milliseconds(50)
        $0.requestTimeout = .milliseconds(400)
      }
      defer { bed.stop() }
      bed.server.decide = {
        $0.token == "00bad0" ? .silence : .answer(429, #"{"reason":"TooManyRequests"}"#)
      }
      let silent = SegmentTally()
      await bed.stage.admit(bed.batch([(.production, "00bad0")], silent))
      let limit = loop.now + 30_000_000_000
      while silent.settled == 0, loop.now < limit {
        await bed.stage.admit(bed.batch(devices(20), SegmentTally()))
        await loop.wait(.milliseconds(20))
      }
      #expect(silent.rejections.map(\.reason) == [.unanswered])
      #expect(bed.server.count("00bad0") <= 4)
    }
  }

  /// It is known now that the server's answers may take so long.
  @Test func whatIsKnownToAnswerLateIsNotGivenUp() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      let late = late(4)
      bed.server.decide = { [unowned server = bed.server] request in
        guard late.contains(request.token) else { return .answer(200) }
        let connection = server.connections[request.connection]
        loop.schedule(after: .milliseconds(1200)) { connection.answer(stream: request.stream) }
        return .silence
      }
      let tokens = devices(30) + late.map { (environment: .production, token: $0) }
      let tally = SegmentTally()
      for sends in [2, 3] {
        await bed.stage.admit(bed.batch(tokens, tally))
        await bed.until("settled") { bed.settledBatches == sends - 1 }
        #expect(late.allSatisfy { bed.server.count($0) == sends })
      }
      #expect(tally.accepted == 2 * 34)
    }
  }

  @Test func whatIsNeverAnsweredEnds() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.passedOverAfter = .milliseconds(50)
        $0.requestTimeout = .seconds(1)
      }
      defer { bed.stop() }
      let silent = late(5)
      bed.server.decide = { silent.contains($0.token) ? .silence : .answer(200) }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(30) + silent.map { (.production, $0) }, tally))
      let others = SegmentTally()
      var admitted = 0
      while tally.settled < 35, admitted < 200_000 {
        await bed.stage.admit(bed.batch(devices(10), others))
        admitted += 10
        await bed.until("others are accepted") { others.accepted == admitted }
      }
      #expect(tally.accepted == 30 && tally.rejections.map(\.reason) == [.unanswered])
      #expect(silent.allSatisfy { bed.server.count($0) == 3 })
      // Nobody closed a connection for their sake.
      #expect(bed.server.connections.count == 3)
    }
  }

  /// What was in a lost connection goes alone, and its helper waits for an answer. Others have
  /// others.
  @Test func aSuspectWithoutAnAnswerHoldsNobodyUp() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      let silent = late(3)
      bed.server.decide = { silent.contains($0.token) ? .silence : .answer(200) }
      for token in silent {
        await bed.stage.admit(
          bed.batch([(.production, token)], SegmentTally(), history: Self.lostOnce))
      }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(40), tally, history: Self.lostOnce))
      await bed.until("accepted") { tally.accepted == 40 }
      #expect(bed.stage.inFlight == 3)
      #expect(silent.allSatisfy { bed.server.count($0) == 1 })
    }
  }

  /// Its connection lives, others are taken, and only it has no answer: it need not be alone.
  @Test func aSuspectWhoseConnectionLivesIsSilentOnly() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] request in
        request.token == "00bad0" && server.count("00bad0") < 3 ? .silence : .answer(200)
      }
      let twice = PushHistory(tries: 0, losses: 2, refusals: 0, mayHaveArrived: true)
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch([(.production, "00bad0")], tally, history: twice))
      await bed.until("alone") { bed.server.count("00bad0") == 1 }
      let others = SegmentTally()
      var admitted = 0
      while bed.server.count("00bad0") == 1, admitted < 200_000 {
        await bed.stage.admit(bed.batch(devices(10), others))
        admitted += 10
        await bed.until("others are accepted") { others.accepted == admitted }
      }
      let route = try #require(bed.stage.routes[.production])
      let helper = try #require(route.pool.places[route.pool.places.silent].connection)
      #expect(helper.silentPushes == 1 && tally.settled == 0)
      // The server closes at nobody: it counts as what was lost once more with another.
      bed.server.connections.last?.drop()
      await bed.until("settled") { bed.settledBatches >= 1 && tally.settled == 1 }
      #expect(tally.accepted == 1)
    }
  }

  /// What leaves a segment is sent when that has settled: not while it must wait anyway.
  @Test func aSegmentThatWaitsForALateAnswerKeepsItsRest() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.passedOverAfter = .milliseconds(50)
        $0.retry = RetryPolicy(initial: .seconds(20), maximum: .seconds(100))
      }
      defer { bed.stop() }
      bed.server.decide = { request in
        switch request.token {
        case "00bad0": .silence
        case "00bad1": .answer(503)
        default: .answer(200)
        }
      }
      let tally = SegmentTally()
      await bed.stage.admit(
        bed.batch(devices(20) + [(.production, "00bad0"), (.production, "00bad1")], tally))
      await bed.until("waited for") { bed.server.count("00bad0") == 2 }
      bed.stage.postponeWaiting(of: tally)
      #expect(tally.stragglers.isEmpty)
      bed.stage.postponeAll(of: tally)
      #expect(tally.stragglers.count == 1)
    }
  }

  /// Those that were lost go again in a moment; but not while the route is closed.
  @Test func whatWasLostStaysForAMoment() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 2 }
      bed.server.decide = { _ in .silence }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(100), tally, history: Self.lostOnce))
      await bed.until("some are there") { bed.server.requests.count > 0 }
      bed.stage.postponeWaiting(of: tally)
      #expect(tally.stragglers.isEmpty && bed.stage.inFlight < 100)
      bed.stage.postponeAll(of: tally)
      #expect(tally.stragglers.count == 100 - bed.stage.inFlight)
    }
  }

  /// The answer has begun: it may be the last word, and then nothing is sent again.
  @Test func whatWasAnsweredWithoutAnEndIsNotCalledUnanswered() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.requestTimeout = .milliseconds(100) }
      defer { bed.stop() }
      bed.server.decide = { _ in .unfinished(200) }
      await bed.stage.admit(bed.batch(hexadecimal(20)))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 20 && bed.server.requests.count == 20)
      #expect(bed.notices.unanswered == 0)
    }
  }

  @Test func aRefusalThatBrokeOffIsNotTheLastWord() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] request in
        switch (request.token, server.count(request.token)) {
        case ("00bad0", 1): .broken(400)
        case ("00bad1", _): .broken(400)
        default: .answer(200)
        }
      }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch([(.production, "00bad0"), (.production, "00bad1")], tally))
      await bed.until("taken at last") { tally.accepted == 1 }
      let others = SegmentTally()
      var admitted = 0
      while tally.settled < 2, admitted < 200_000 {
        await bed.stage.admit(bed.batch(devices(10), others))
        admitted += 10
        await bed.until("others are accepted") { others.accepted == admitted }
      }
      #expect(tally.rejections.map(\.reason) == [.unanswered])
      #expect((10...25).contains(bed.server.count("00bad1")))
    }
  }
}
