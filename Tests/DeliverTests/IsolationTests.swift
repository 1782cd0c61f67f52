import EventLoop
import HTTP2
import Model
import Testing

@testable import Deliver

/// Bad tokens do not stall good ones: a server that takes streams from a connection for what it
/// rejects there meets them on connections of their own.
@Suite struct IsolationTests {
  private static let bad = "bad"

  private func bad(_ count: Int, from first: Int = 0) -> [String] {
    (first..<first + count).map { Self.bad + String($0 + 4096, radix: 16) }
  }

  /// One bad token of so many.
  private func mixed(_ good: [String], _ bad: [String]) -> [String] {
    let distance = good.count / bad.count
    return good.enumerated().flatMap { index, token in
      index % distance == 0 && index / distance < bad.count
        ? [bad[index / distance], token] : [token]
    }
  }

  private func isBad(_ request: FakeServer.Request) -> Bool {
    request.token.hasPrefix(Self.bad)
  }

  /// Cuts a connection to one stream when it has rejected a token on it; then no more is expected
  /// of it than to answer what is in flight.
  /// - Parameter refuses: what comes on it from then on, as servers do that count what is in
  ///   flight.
  private func punish(_ bed: DeliverBed, refuses: Bool = false) {
    var cut: Set<Int> = []
    bed.server.decide = { [unowned server = bed.server] request in
      let number = request.connection
      if refuses, cut.contains(number) { return .reset(HTTP2ErrorCode.refusedStream) }
      guard isBad(request) else { return .answer(200) }
      if cut.insert(number).inserted {
        server.connections[number].session?.setMaximumConcurrentStreams(1)
      }
      return .answer(400, #"{"reason":"BadDeviceToken"}"#)
    }
  }

  private func send(_ tokens: [String], _ bed: DeliverBed) async -> SegmentTally {
    let tally = SegmentTally()
    let settled = bed.settledBatches
    var batches = 0
    for first in stride(from: 0, to: tokens.count, by: 250) {
      let part = tokens[first..<min(first + 250, tokens.count)]
      await bed.stage.admit(bed.batch(part.map { (.production, $0) }, tally))
      batches += 1
    }
    await bed.until("settled") { bed.settledBatches == settled + batches }
    #expect(tally.unsent == 0)
    return tally
  }

  private func bed(
    _ loop: EventLoop, streams: Int = 50, giveUpAfter: Duration = .seconds(30)
  ) async throws -> DeliverBed {
    let bed = try DeliverBed(loop) {
      $0.streamsPerConnection = streams
      $0.passedOverAfter = giveUpAfter
      $0.requestTimeout = giveUpAfter
    }
    await bed.until("open") { bed.stage.openConnections == 2 }
    return bed
  }

  private func route(_ bed: DeliverBed) throws -> Route {
    try #require(bed.stage.routes[.production])
  }

  private func retirements(_ bed: DeliverBed) -> Int {
    bed.notices.count { if case .retired = $0 { true } else { false } }
  }

  /// Of a connection that was cut to one stream another takes the place, and no more of them than
  /// are cut.
  @Test func aConnectionThatWasCutIsReplaced() async throws {
    try await onLoop { _, loop in
      let bed = try await bed(loop)
      defer { bed.stop() }
      bed.server.delay = .milliseconds(2)
      punish(bed)
      let tally = await send(mixed(hexadecimal(1000), bad(2)), bed)
      #expect(tally.accepted == 1000 && tally.rejections.map(\.count) == [2])
      #expect((1...2).contains(retirements(bed)))
      #expect(bed.server.connections.count <= 2 + 2 + ConnectionPlaces.unprovenCount)
    }
  }

  /// While nothing is taken another would have to wait: the one that was cut goes on.
  @Test func aConnectionThatWasCutStaysWhileNothingIsTaken() async throws {
    try await onLoop { _, loop in
      let bed = try await bed(loop)
      defer { bed.stop() }
      bed.server.delay = .milliseconds(2)
      punish(bed)
      let tally = await send(bad(300), bed)
      #expect(tally.rejections.map(\.count) == [300])
      #expect(bed.server.connections.count <= 2 + ConnectionPlaces.unprovenCount)
      #expect(retirements(bed) == 0)
    }
  }

  /// What was on its way to a connection when that was cut is refused: that says nothing of how
  /// much the server takes of all.
  @Test func whatWasOnItsWayToACutConnectionSlowsNobodyDown() async throws {
    try await onLoop { _, loop in
      let bed = try await bed(loop, streams: 200)
      defer { bed.stop() }
      bed.server.delay = .milliseconds(40)
      punish(bed, refuses: true)
      let tally = await send(mixed(hexadecimal(4000), bad(8)), bed)
      #expect(tally.accepted == 4000 && tally.rejections.map(\.count) == [8])
      #expect(bed.server.requests.count > 4100)
      #expect(try route(bed).traffic.overload.rate == nil)
    }
  }

  enum NoReason: CaseIterable {
    case fewerStreamsWithoutErrors, fewerStreamsFor410, stillMoreStreamsThanAreUsed
    case goingAwayAfterTwoErrors
  }

  /// A server that takes fewer streams without a word of errors that count is obeyed, and so is one
  /// that goes away after a bad token or two.
  @Test(arguments: NoReason.allCases)
  func whatIsNotForErrorsBeginsNothing(reason: NoReason) async throws {
    try await onLoop { _, loop in
      let bed = try await bed(loop)
      defer { bed.stop() }
      let goesAway = reason == .goingAwayAfterTwoErrors
      bed.server.decide = { [unowned server = bed.server] request in
        if server.requests.count == 20 {
          for connection in server.open {
            if goesAway {
              connection.goAway(lastStream: connection.lastStream)
            } else {
              connection.session?.setMaximumConcurrentStreams(
                reason == .stillMoreStreamsThanAreUsed ? 50 : 1)
            }
          }
        }
        guard isBad(request) else { return .answer(200) }
        return reason == .fewerStreamsFor410
          ? .answer(410, #"{"reason":"Unregistered","timestamp":1}"#)
          : .answer(400, #"{"reason":"BadDeviceToken"}"#)
      }
      let errors = reason == .fewerStreamsWithoutErrors ? [] : bad(2)
      let tokens = errors.isEmpty ? hexadecimal(500) : mixed(hexadecimal(500), errors)
      let tally = await send(tokens, bed)
      #expect(tally.accepted == 500)
      #expect(try !route(bed).traffic.isolation.isWatching)
      #expect(bed.server.connections.count == (goesAway ? 4 : 2))
    }
  }

  /// A server that goes away after many bad tokens does it for them.
  @Test func goingAwayForErrorsBeginsIt() async throws {
    try await onLoop { _, loop in
      let bed = try await bed(loop)
      defer { bed.stop() }
      bed.server.delay = .milliseconds(2)
      var rejected: [Int: Int] = [:]
      bed.server.decide = { [unowned server = bed.server] request in
        guard isBad(request) else { return .answer(200) }
        rejected[request.connection, default: 0] += 1
        if rejected[request.connection] == 10 {
          let connection = server.connections[request.connection]
          connection.goAway(lastStream: connection.lastStream)
        }
        return .answer(400, #"{"reason":"BadDeviceToken"}"#)
      }
      let tally = await send(mixed(hexadecimal(1000), bad(100)), bed)
      #expect(tally.accepted == 1000 && tally.rejections.map(\.count) == [100])
      #expect(try route(bed).traffic.isolation.isWatching)
    }
  }

  /// Tokens that were taken keep their connections; others go on connections of their own, where
  /// bad ones cost nobody else a stream.
  @Test func knownTokensKeepTheirConnections() async throws {
    try await onLoop { _, loop in
      let bed = try await bed(loop)
      defer { bed.stop() }
      bed.server.delay = .milliseconds(2)
      punish(bed)
      let known = hexadecimal(1000)
      try route(bed).traffic.isolation.begin(at: loop.now)
      _ = await send(known, bed)
      let before = bed.server.requests.count
      let tally = await send(mixed(known, bad(20)), bed)
      #expect(tally.accepted == 1000 && tally.rejections.map(\.count) == [20])
      let requests = bed.server.requests[before...]
      let ofBad = Set(requests.filter(isBad).map(\.connection))
      let ofGood = Set(requests.filter { !isBad($0) }.map(\.connection))
      #expect(ofGood.isDisjoint(with: ofBad) && ofGood.count <= 2)
    }
  }

  /// All that is unknown of a new audience goes on all connections, also on those of its own.
  @Test func aNewAudienceHasAllConnections() async throws {
    try await onLoop { _, loop in
      let bed = try await bed(loop)
      defer { bed.stop() }
      bed.server.delay = .milliseconds(5)
      try route(bed).traffic.isolation.begin(at: loop.now)
      let tally = await send(hexadecimal(5000), bed)
      #expect(tally.accepted == 5000)
      let connections = Set(bed.server.requests.map(\.connection))
      #expect(connections.count == 2 + ConnectionPlaces.unprovenCount)
    }
  }

  /// Where no further connection is admitted, pushes go together after a moment, and for a while.
  @Test func withoutFurtherConnectionsAllGoTogether() async throws {
    try await onLoop { _, loop in
      let bed = try await bed(loop)
      defer { bed.stop() }
      bed.server.maximumConnections = 2
      try route(bed).traffic.isolation.begin(at: loop.now)
      #expect(await send(hexadecimal(3000), bed).accepted == 3000)
      #expect(try !route(bed).traffic.isolation.isOn(at: loop.now))
      #expect(bed.server.refusedConnections > 0)
      #expect(await send(bad(300), bed).accepted == 300)
    }
  }

  /// Where a connection apart is open and has nothing to say, only what is in flight there waits
  /// for it.
  @Test func aSilentConnectionApartHoldsUpNobodyElse() async throws {
    try await onLoop { _, loop in
      let bed = try await bed(loop, giveUpAfter: .seconds(300))
      defer { bed.stop() }
      bed.server.options.maximumConcurrentStreams = 1
      bed.server.decide = { $0.connection < 2 ? .answer(200) : .silence }
      try route(bed).traffic.isolation.begin(at: loop.now)
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(hexadecimal(500).map { (.production, $0) }, tally))
      let silent = ConnectionPlaces.unprovenCount
      await bed.until("all others") { tally.accepted == 500 - silent }
      #expect(bed.stage.inFlight == silent && tally.unsent == 0)
    }
  }

  /// Where an ordinary connection is not admitted for those apart, they go.
  @Test func connectionsApartMakeRoomForOrdinaryOnes() async throws {
    try await onLoop { _, loop in
      let bed = try await bed(loop, giveUpAfter: .seconds(300))
      defer { bed.stop() }
      bed.server.decide = { $0.connection < 2 ? .answer(200) : .silence }
      let route = try route(bed)
      route.traffic.isolation.begin(at: loop.now)
      await bed.stage.admit(bed.batch(hexadecimal(80)))
      await bed.until("in flight apart") { bed.stage.inFlight == 80 }
      bed.server.maximumConnections = 3
      bed.server.connections[0].drop()
      await bed.until("given up") {
        route.pool.places.unproven.allSatisfy { route.pool.places[$0].connection == nil }
      }
      #expect(bed.stage.inFlight == 80)
      for request in bed.server.requests {
        bed.server.connections[request.connection].answer(stream: request.stream)
      }
      await bed.until("open again") { bed.stage.openConnections == 2 }
      #expect(bed.tally.accepted == 80)
    }
  }
}
