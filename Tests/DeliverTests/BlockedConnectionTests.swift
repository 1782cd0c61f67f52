import EventLoop
import Model
import Testing

@testable import Deliver
@testable import Transport

/// Servers that read nothing of what they are sent, and talk: our last word on a push does not
/// reach them, so that its stream comes to no end.
@Suite struct BlockedConnectionTests {
  private let streams = 900

  private func bed(
    _ loop: EventLoop, configure: (inout DeliverOptions) -> Void = { _ in }
  ) throws -> DeliverBed {
    try DeliverBed(loop) {
      $0.connectionsPerRoute = 1
      $0.streamsPerConnection = streams
      $0.requestTimeout = .seconds(1)
      $0.pingTimeout = .milliseconds(500)
      configure(&$0)
    }
  }

  /// As many pushes as there are streams are in flight, and the server reads nothing of them. As
  /// many have gone before, so that these may go at once. Their heads alone, some 300 bytes each,
  /// are more than both sockets hold.
  private func fill(_ bed: DeliverBed) async throws -> (FakeConnection, HTTP2Connection) {
    await bed.stage.admit(bed.batch(hexadecimal(streams)))
    await bed.until("trusted") { bed.tally.accepted == streams }
    let connection = try #require(
      bed.stage.routes[.production]?.pool.slots[0].connection as? HTTP2Connection)
    connection.transport?.shrinkSocket()
    bed.server.connections[0].takeLittle()
    bed.server.connections[0].stopReading()
    let long = hexadecimal(streams).map { $0 + String(repeating: "bd", count: 190) }
    await bed.stage.admit(bed.batch(long))
    await bed.until("in flight") { connection.inFlight == streams }
    return (bed.server.connections[0], connection)
  }

  /// The server has got one push, and more than the socket takes is on its way to it.
  private func block(
    _ bed: DeliverBed, _ tally: SegmentTally
  ) async throws -> (FakeConnection, HTTP2Connection) {
    bed.server.holdsAnswers = true
    await bed.stage.admit(bed.batch(["00ff"]))
    await bed.until("there") { bed.server.requests.count == 1 }
    let server = bed.server.connections[0]
    let connection = try #require(
      bed.stage.routes[.production]?.pool.slots[0].connection as? HTTP2Connection)
    connection.transport?.shrinkSocket()
    server.stopReading()
    let headers = bed.batch(["00"]).headers
    let devices = hexadecimal(60).map { (destination: Destination.production, token: $0) }
    await bed.stage.admit(
      bed.batch(devices, tally, headers, event: String(repeating: "x", count: 30_000)))
    await bed.until("more is there than leaves") { connection.capacity == 0 }
    return (server, connection)
  }

  /// It answers now and then, and says something all the time.
  @Test func aServerThatTakesNothingAndTalksIsLeft() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      let tally = SegmentTally()
      let (server, _) = try await block(bed, tally)
      func talk() {
        guard !server.isClosed else { return }
        server.session?.ping()
        server.flush()
        loop.schedule(after: .milliseconds(200)) { talk() }
      }
      talk()
      await loop.wait(.milliseconds(900))
      bed.server.release()
      await bed.until("all are accepted") { tally.accepted == 60 && bed.tally.accepted == 1 }
      #expect(bed.notices.unanswered >= 1 && bed.stage.inFlight == 0)
    }
  }

  /// What tells it to stop does not leave either.
  @Test func aServerThatTakesNothingAndFloodsIsLeftAtOnce() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop) { $0.requestTimeout = .seconds(3600) }
      defer { bed.stop() }
      let tally = SegmentTally()
      let (server, connection) = try await block(bed, tally)
      // WINDOW_UPDATE by 1, a thousand times.
      let updates = (0..<1000).flatMap { _ in [0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1] as [UInt8] }
      bed.server.holdsAnswers = false
      let began = loop.now
      await bed.until("it is left") {
        if !server.isClosed { server.write(updates) }
        return connection.phase == .closed
      }
      // The kernel would do it after twenty seconds.
      #expect(loop.now - began < 10_000_000_000)
      await bed.until("all are accepted") { tally.accepted == 60 }
    }
  }

  /// They wait in our own session, and no server has seen them.
  @Test func whatAServerMadeWaitIsSentElsewhereAsIfNothingHadBeen() async throws {
    try await onLoop { _, loop in
      // Longer than the others', so that also a busy machine answers the pushes before in time.
      let bed = try bed(loop) { $0.requestTimeout = .seconds(4) }
      defer { bed.stop() }
      let (server, connection) = try await fill(bed)
      server.session?.setMaximumConcurrentStreams(0)
      server.flush()
      await bed.until("heard") { connection.streams == 0 }
      server.readAgain()
      // It refuses what had left.
      await bed.until("the others are refused") { connection.inFlight < streams }
      let waiting = connection.inFlight
      #expect(waiting > 0)
      await bed.until("all are accepted") { bed.tally.accepted == 2 * streams }
      #expect(bed.server.requests.count == 2 * streams)
      #expect(lost(bed) == 0 && bed.server.connections.count == 2)
    }
  }

  @Test func whatNeverLeftALostConnectionIsNoProbe() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop) { $0.requestTimeout = .seconds(60) }
      defer { bed.stop() }
      let (server, _) = try await fill(bed)
      server.drop()
      await bed.until("all are accepted") { bed.tally.accepted == 2 * streams }
      // Heads leave before bodies: not all of them have left the first connection. On a busy
      // machine others are lost, too.
      #expect((losses(bed).first ?? 0) < streams)
      await bed.until("all are told of") { lost(bed) == bed.tally.retried }
    }
  }

  private func lost(_ bed: DeliverBed) -> Int { losses(bed).reduce(0, +) }

  /// Pushes that were lost with each connection.
  private func losses(_ bed: DeliverBed) -> [Int] {
    bed.notices.all.withLock { notices in
      notices.compactMap { if case .lost(_, let pushes, _) = $0 { pushes } else { nil } }
    }
  }
}
