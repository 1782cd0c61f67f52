import EventLoop
import HTTP2
import Model
import Testing

@testable import Deliver

/// Bad tokens do not stall good ones: a server that takes streams from a connection for what it
/// rejects there meets them on connections of their own.
@Suite struct IsolationTests {
  private static let bad = "bad"

  private func good(_ count: Int) -> [String] { hexadecimal(count) }

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

  /// Cuts a connection to one stream when it has rejected so many tokens on it; then no more is
  /// expected of it than to answer what is in flight.
  private func punish(_ bed: DeliverBed, after limit: Int) {
    var rejected: [Int: Int] = [:]
    bed.server.decide = { [unowned server = bed.server] request in
      guard request.token.hasPrefix(Self.bad) else { return .answer(200) }
      rejected[request.connection, default: 0] += 1
      if rejected[request.connection] == limit {
        server.connections[request.connection].session?.setMaximumConcurrentStreams(1)
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
    return tally
  }

  private func bed(_ loop: EventLoop) throws -> DeliverBed {
    try DeliverBed(loop) { $0.streamsPerConnection = 50 }
  }

  /// Of a connection that was cut to one stream another takes the place, and no more of them than
  /// are cut.
  @Test func aConnectionThatWasCutIsReplaced() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      bed.server.delay = .milliseconds(2)
      punish(bed, after: 1)
      await bed.until("open") { bed.stage.openConnections == 2 }
      let tally = await send(mixed(good(1000), bad(2)), bed)
      #expect(tally.accepted == 1000 && tally.rejections.map(\.count) == [2])
      #expect(bed.server.connections.count > 2 + ConnectionPool.unproven)
      #expect(bed.server.connections.count <= 2 + 2 + ConnectionPool.unproven)
      #expect(tally.unsent == 0)
    }
  }

  /// What was on its way to a connection when that was cut is refused: that says nothing of how
  /// much the server takes of all.
  @Test func whatWasOnItsWayToACutConnectionSlowsNobodyDown() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.streamsPerConnection = 200 }
      defer { bed.stop() }
      bed.server.delay = .milliseconds(40)
      var cut: Set<Int> = []
      bed.server.decide = { [unowned server = bed.server] request in
        guard !cut.contains(request.connection) else {
          return .reset(HTTP2ErrorCode.refusedStream)
        }
        guard request.token.hasPrefix(Self.bad) else { return .answer(200) }
        cut.insert(request.connection)
        server.connections[request.connection].session?.setMaximumConcurrentStreams(1)
        return .answer(400, #"{"reason":"BadDeviceToken"}"#)
      }
      await bed.until("open") { bed.stage.openConnections == 2 }
      let route = try #require(bed.stage.routes[.production])
      let tally = await send(mixed(good(4000), bad(8)), bed)
      #expect(tally.accepted == 4000 && tally.rejections.map(\.count) == [8])
      #expect(bed.server.requests.count > 4100)
      #expect(route.traffic.overload.rate == nil)
    }
  }

  /// A server that takes fewer streams without a word of errors is obeyed.
  @Test func aConnectionWithFewerStreamsAndNoErrorsStays() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] request in
        if server.requests.count == 20 {
          for connection in server.open { connection.session?.setMaximumConcurrentStreams(1) }
        }
        return .answer(200)
      }
      await bed.until("open") { bed.stage.openConnections == 2 }
      let tally = await send(good(500), bed)
      #expect(tally.accepted == 500)
      #expect(bed.server.connections.count == 2)
    }
  }

  /// Tokens that were taken keep their connections; others go on connections of their own, where
  /// bad ones cost nobody else a stream.
  @Test func knownTokensKeepTheirConnections() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      bed.server.delay = .milliseconds(2)
      punish(bed, after: 1)
      await bed.until("open") { bed.stage.openConnections == 2 }
      let known = good(1000)
      _ = await send(bad(1), bed)
      // From now on it is known who is taken.
      _ = await send(known, bed)
      let before = bed.server.requests.count
      let tally = await send(mixed(known, bad(20, from: 1)), bed)
      #expect(tally.accepted == 1000 && tally.rejections.map(\.count) == [20])
      let requests = bed.server.requests[before...]
      let ofBad = Set(requests.filter { $0.token.hasPrefix(Self.bad) }.map(\.connection))
      let ofGood = Set(requests.filter { !$0.token.hasPrefix(Self.bad) }.map(\.connection))
      #expect(ofGood.isDisjoint(with: ofBad) && ofGood.count <= 2)
      #expect(tally.unsent == 0)
    }
  }

  /// Where no further connection is admitted, pushes go together as before.
  @Test func withoutFurtherConnectionsAllGoTogether() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      bed.server.maximumConnections = 2
      var rejected = 0
      bed.server.decide = { [unowned server = bed.server] request in
        guard request.token.hasPrefix(Self.bad) else { return .answer(200) }
        rejected += 1
        if rejected == 1 {
          server.connections[request.connection].goAway(lastStream: request.stream)
        }
        return .answer(400, #"{"reason":"BadDeviceToken"}"#)
      }
      await bed.until("open") { bed.stage.openConnections == 2 }
      _ = await send(bad(1), bed)
      await bed.until("open again") { bed.stage.openConnections == 2 }
      let tally = await send(mixed(good(3000), bad(5, from: 1)), bed)
      #expect(tally.accepted == 3000 && tally.rejections.map(\.count) == [5])
      #expect(tally.unsent == 0)
    }
  }

  /// What waits for a connection of its own leaves with its segment, and expires in time.
  @Test func whatWaitsApartEndsWithItsSegment() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      punish(bed, after: 1)
      await bed.until("open") { bed.stage.openConnections == 2 }
      _ = await send(bad(1), bed)
      let route = try #require(bed.stage.routes[.production])
      // Nothing is answered from now on, and no connection takes more than is in flight.
      bed.server.decide = { _ in .silence }
      let (stays, leaves) = (SegmentTally(), SegmentTally())
      await bed.stage.admit(bed.batch(good(300).map { (.production, $0) }, stays))
      await bed.stage.admit(bed.batch(good(400).suffix(100).map { (.production, $0) }, leaves))
      await bed.until("apart") { route.traffic.isolation.isOn && bed.stage.readyCount == 0 }
      #expect(leaves.unsent == 0 && stays.unsent == 0)
      bed.stage.postponeAll(of: leaves)
      // All but what is in flight.
      #expect((50...100).contains(leaves.stragglers.count))
      bed.clock.advance(700_000)
      route.tick()
      #expect(stays.expired > 0)
    }
  }
}
