import EventLoop
import Model
import Testing
import Transport

@testable import APNs
@testable import Deliver

/// The last words on a connection, ours and the server's, and what is said of them here.
@Suite struct GoodbyeTests {
  @Test func aWorkerThatStopsTellsItsServers() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 2 }
      await bed.stage.admit(bed.batch(hexadecimal(10)))
      await bed.until("accepted") { bed.tally.accepted == 10 }
      bed.stage.stop()
      await bed.until("closed") { bed.server.open.isEmpty }
      #expect(bed.server.connections.map(\.heardGoodbye) == [true, true])
    }
  }

  /// What has not left yet would leave with it, though the worker no longer hears of its outcome.
  @Test func whatIsInFlightKeepsAWorkerFromSayingMore() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      bed.server.decide = { _ in .silence }
      await bed.stage.admit(bed.batch(hexadecimal(1)))
      await bed.until("sent") { bed.server.requests.count == 1 }
      bed.stage.stop()
      await bed.until("closed") { bed.server.open.isEmpty }
      #expect(bed.server.connections.map(\.heardGoodbye) == [false])
    }
  }

  /// The operator reads why, and is not told that there is no connection: another is on its way.
  @Test func aConnectionThatTheServerEndsIsAnsweredAndReplaced() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 1 }
      bed.server.connections[0].goAway(lastStream: 0, reason: "Shutdown")
      await bed.until("closed") { bed.server.connections[0].isClosed }
      #expect(bed.server.connections[0].heardGoodbye)
      #expect(bed.notices.replaced == ["the server: Shutdown"])
      #expect(bed.notices.disconnects == 0)
    }
  }

  @Test func aConnectionThatWeReplaceIsNotCalledTheServersDoing() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      for number in 1...2 {
        await bed.stage.admit(bed.batch(hexadecimal(10)))
        await bed.until("accepted") { bed.tally.accepted == 10 * number }
        bed.tokens.use(ProviderKey(keyID: "KEYKEYKEY2", teamID: "TEAMTEAM01") { _ in [8] })
      }
      await bed.until("closed") { bed.server.connections[0].isClosed }
      #expect(bed.server.connections[0].heardGoodbye)
      #expect(bed.notices.replaced == ["the worker: it has shown other credentials"])
    }
  }

  @Test(arguments: [
    ("api.push.apple.com", 443, "api.push.apple.com"), ("localhost", 2197, "localhost:2197"),
    ("::1", 443, "[::1]"), ("::1", 2197, "[::1]:2197"),
  ])
  func theAuthorityNamesThePortWhereItIsNotThatOfHTTPS(host: String, port: Int, text: String) {
    #expect(Endpoint(host: host, port: port).authority == text)
  }

  @Test func aRequestNamesTheServerThatItIsFor() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(hexadecimal(1)))
      await bed.until("accepted") { bed.tally.accepted == 1 }
      #expect(bed.server.requests[0][":authority"] == "127.0.0.1:\(bed.server.port)")
    }
  }
}

extension Notices {
  /// Who ended connections that drained, and why.
  fileprivate var replaced: [String] {
    all.withLock { notices in
      notices.compactMap {
        switch $0 {
        case .goingAway(_, let reason, _): "the server: \(reason)"
        case .retired(_, let reason, _): "the worker: \(reason)"
        default: nil
        }
      }
    }
  }
}
