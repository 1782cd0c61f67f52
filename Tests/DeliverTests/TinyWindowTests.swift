import Testing

@testable import Deliver

/// A window of one byte is legal: slow, and no reason to leave the connection.
@Suite struct TinyWindowTests {
  @Test func everyPushArrivesOnceThroughWindowsOfOneByte() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.limits.streamWindowBytes = 1 }) {
        $0.connectionsPerRoute = 1
      }
      defer { bed.stop() }
      // The payload holds its token: so many one-byte frames before the first stream ends.
      let tokens = hexadecimal(600).map { $0 + String(repeating: "ab", count: 80) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == tokens.count)
      #expect(bed.server.requests.count == tokens.count)
      #expect(bed.server.connections.count == 1 && bed.notices.disconnects == 0)
    }
  }

  /// None of their payloads leaves: no server can have taken them, however often they are given up.
  @Test func pushesThatAServerLetsNotLeaveAreSentWhenItDoes() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.limits.streamWindowBytes = 0 }) {
        $0.connectionsPerRoute = 1
        $0.requestTimeout = .milliseconds(300)
        $0.pingTimeout = .milliseconds(300)
        $0.retry = RetryPolicy(initial: .milliseconds(10), maximum: .milliseconds(10))
      }
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(["00ff"]))
      await bed.until("it was given up often") { bed.server.connections.count > 5 }
      #expect(bed.server.requests.isEmpty && bed.settledBatches == 0)
      bed.server.options.limits.streamWindowBytes = 65_535
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 1 && bed.tally.retried == 0)
    }
  }
}
