import EventLoop
import HTTP2
import Model
import Testing

@testable import APNs
@testable import Deliver

/// What becomes of a connection that was opened besides, when the server or our credentials are not
/// as they were.
@Suite struct GrownConnectionTests {
  /// Something admits no further connection: it is tried once, and the others go on as they were.
  @Test func oneThatIsNotAdmittedIsGivenUp() async throws {
    try await onLoop { _, loop in
      let trial = try GrowthBed(loop)
      let (bed, server) = (trial.bed, trial.server)
      defer { bed.stop() }
      server.maximumConnections = 1
      await trial.load("refused") { server.refusedConnections == 1 }
      await bed.until("given up") { trial.wanted == 1 }
      var sent = 0
      await trial.load("a thousand more") {
        sent += 50
        return sent > 1_000
      }
      #expect(server.refusedConnections == 1 && trial.sizes == [2, 1])
      #expect(bed.notices.ends == [] && bed.notices.disconnects == 0)
      await trial.settle()
    }
  }

  /// A server that lets nobody in says nothing of how many it lets in. As soon as one connection is
  /// there again, the others come without the rest of their waiting time.
  @Test func anOutageCostsNone() async throws {
    try await onLoop { _, loop in
      let trial = try GrowthBed(loop) {
        $0.retry = RetryPolicy(initial: .milliseconds(20), maximum: .seconds(30))
      }
      let (bed, server) = (trial.bed, trial.server)
      defer { bed.stop() }
      await trial.grow(to: 3)
      await trial.load("all are used") {
        Set(server.requests.suffix(60).map(\.connection)).count == 3
      }
      server.maximumConnections = 0
      for connection in server.open { connection.drop() }
      await bed.until("refused three times each") { server.refusedConnections >= 9 }
      #expect(trial.wanted == 3)
      server.maximumConnections = .max
      let pool = trial.route.pool
      await bed.until("one is there") { trial.open > 0 }
      #expect(pool.slots.ordinary.allSatisfy { pool.slots[$0].connection != nil })
      await bed.until("all are there") { trial.open == 3 }
      await bed.until("all are accepted") { bed.tally.accepted == bed.tally.pushes }
      #expect(trial.sizes == [2, 3])
    }
  }

  /// A server that sends the grown one away sends away any other: it is replaced as they are.
  @Test func oneThatIsSentAwayIsReplaced() async throws {
    try await onLoop { _, loop in
      let trial = try GrowthBed(loop, most: 2)
      let (bed, server) = (trial.bed, trial.server)
      defer { bed.stop() }
      await trial.grow(to: 2)
      let grown = server.connections[1]
      await trial.load("it is of use") { server.requests.count { $0.connection == 1 } > 60 }
      grown.goAway(lastStream: grown.lastStream)
      await trial.load("replaced") { server.connections.count == 3 && trial.open == 2 }
      await trial.settle()
      #expect(trial.sizes == [2])
    }
  }

  /// Another token goes on connections of its own, and there are as many of them.
  @Test func anotherKeyReplacesItToo() async throws {
    try await onLoop { _, loop in
      let trial = try GrowthBed(loop, least: 2)
      let (bed, server) = (trial.bed, trial.server)
      defer { bed.stop() }
      await trial.grow(to: 3)
      await trial.load("all are used") {
        Set(server.requests.suffix(60).map(\.connection)).count == 3
      }
      bed.tokens.use(ProviderKey(keyID: "KEYKEYKEY2", teamID: "TEAMTEAM01") { _ in [8] })
      await trial.load("three others") { server.connections.count >= 6 && trial.open == 3 }
      await trial.settle()
      let shown = Dictionary(grouping: server.requests, by: \.connection)
      #expect(shown.values.allSatisfy { Set($0.map { $0["authorization"] }).count == 1 })
    }
  }

  /// The streams of a server come and go: one a connection, many, one, none.
  @Test func itFollowsTheServersStreams() async throws {
    try await onLoop { _, loop in
      let trial = try GrowthBed(loop, least: 2, shrinks: true) { $0.streamsPerConnection = 1_000 }
      let (bed, server) = (trial.bed, trial.server)
      defer { bed.stop() }
      func limit(to streams: Int) async {
        for connection in server.open {
          connection.session?.setMaximumConcurrentStreams(streams)
          connection.flush()
        }
        server.options.maximumConcurrentStreams = streams
        await bed.until("heard") {
          trial.route.pool.slots.open.allSatisfy { $0.streams == min(1_050, streams) }
        }
      }
      await bed.until("open") { trial.open == 2 }
      await limit(to: 1)
      await trial.grow(to: 3)
      await limit(to: 1_000)
      await trial.settle()
      for _ in 0..<2 { trial.route.tick() }
      #expect(trial.wanted == 2)
      await limit(to: 1)
      await trial.grow(to: 3)
      await trial.settle()
      await limit(to: 0)
      let sizes = trial.sizes
      await bed.stage.admit(bed.batch(["aa"]))
      for _ in 0..<10 { trial.route.tick() }
      #expect(trial.wanted == 3 && trial.sizes == sizes)
      await limit(to: 1)
      await trial.settle()
    }
  }

  /// Probe connections stand behind all that may come.
  @Test func othersHavePlacesOfTheirOwn() async throws {
    try await onLoop { _, loop in
      let trial = try GrowthBed(loop, least: 2, most: 5)
      defer { trial.bed.stop() }
      let pool = trial.route.pool
      #expect(pool.slots.ordinary == 0..<2)
      #expect(pool.slots.probes == 5..<9)
      await trial.grow(to: 5)
      #expect(pool.slots.ordinary == 0..<5)
      await trial.settle()
    }
  }
}
