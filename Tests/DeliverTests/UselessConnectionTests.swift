import EventLoop
import Model
import Testing

@testable import Deliver

/// Connections that are open and take nothing, while another would.
@Suite struct UselessConnectionTests {
  @Test func aConnectionThatTakesNothingIsReplaced() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 0 }) {
        $0.replacedAfter = .milliseconds(100)
      }
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 2 }
      bed.server.options.maximumConcurrentStreams = 100
      await bed.stage.admit(bed.batch(hexadecimal(500)))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 500 && bed.server.requests.count == 500)
      #expect(bed.notices.ends.contains("open, but it took no pushes"))
    }
  }

  @Test func aServerThatMeansItIsNotHammered() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 0 }) {
        $0.replacedAfter = .milliseconds(100)
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      // They have been idle for long enough that a server might have closed them for that.
      await bed.until("open") { bed.stage.openConnections == 2 }
      await loop.wait(.milliseconds(1100))
      await bed.stage.admit(bed.batch(hexadecimal(10)))
      await bed.until("both were given up") { bed.notices.disconnects == 2 }
      #expect(bed.stage.openConnections == 0 && bed.server.connections.count == 2)
    }
  }

  @Test func anIdleConnectionWithoutStreamsIsKept() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 0 }) {
        $0.replacedAfter = .milliseconds(100)
      }
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 2 }
      await loop.wait(.milliseconds(1100))
      #expect(bed.notices.disconnects == 0 && bed.stage.openConnections == 2)
    }
  }

  @Test func whatIsLostWithConnectionsIsTold() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(hexadecimal(100)))
      await bed.until("of use") { bed.tally.accepted == 100 }
      var hasDropped = false
      bed.server.decide = { _ in hasDropped ? .answer(200) : .silence }
      await bed.stage.admit(bed.batch(hexadecimal(30)))
      await bed.until("in flight") { bed.server.requests.count == 130 }
      hasDropped = true
      for connection in bed.server.open { connection.drop() }
      await bed.until("settled") { bed.settledBatches == 2 }
      let lost = bed.notices.all.withLock { notices in
        notices.compactMap { if case .lost(_, let pushes, _) = $0 { pushes } else { nil } }
      }
      #expect(lost == [30])
    }
  }

  /// Its credentials are in doubt, and those that would ask find no stream: another connection may
  /// have one.
  @Test func aConnectionThatTakesNothingIsReplacedThoughCredentialsAreInDoubt() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.credentialHold = .milliseconds(50)
        $0.replacedAfter = .milliseconds(200)
      }
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] request in
        guard request.connection < 2 else { return .answer(200) }
        server.connections[request.connection].session?.setMaximumConcurrentStreams(0)
        return .answer(403, #"{"reason":"InvalidProviderToken"}"#)
      }
      await bed.stage.admit(bed.batch(hexadecimal(50)))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 50 && bed.stage.obstacles == [])
    }
  }
}
