import EventLoop
import HTTP2
import Model
import Testing

@testable import Deliver

/// Bad tokens do not stall good ones: a connection from which a server takes streams for what it
/// rejects there is replaced.
@Suite struct CutConnectionTests {
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
      #expect(bed.server.connections.count <= 2 + 2)
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
      #expect(bed.server.connections.count == 2)
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
  func whatIsNotForErrorsReplacesNothing(reason: NoReason) async throws {
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
      #expect(bed.server.connections.count == (goesAway ? 4 : 2))
    }
  }
}
