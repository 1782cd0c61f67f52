import EventLoop
import Model
import Testing

@testable import Deliver
@testable import Transport

/// Servers that read nothing of what they are sent, and talk: our last word on a push does not
/// reach them, so that its stream comes to no end.
@Suite struct BlockedConnectionTests {
  private let streams = 1000

  private func bed(_ loop: EventLoop) throws -> DeliverBed {
    try DeliverBed(loop) {
      $0.connectionsPerRoute = 1
      $0.streamsPerConnection = streams
      $0.requestTimeout = .seconds(1)
      $0.pingTimeout = .milliseconds(500)
    }
  }

  /// It answers now and then, and says something all the time.
  @Test func aServerThatTakesNothingAndTalksIsLeft() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      bed.server.holdsAnswers = true
      await bed.stage.admit(bed.batch(["00ff"]))
      await bed.until("there") { bed.server.requests.count == 1 }
      let server = bed.server.connections[0]
      let connection = try #require(bed.stage.routes[.production]?.places[0].connection)
      connection.transport?.shrinkSocket()
      server.stopReading()
      // More than the socket takes.
      let headers = bed.batch(["00"]).headers
      let tally = SegmentTally()
      let devices = hexadecimal(60).map { (environment: APNsEnvironment.production, token: $0) }
      await bed.stage.admit(
        bed.batch(devices, tally, headers, event: String(repeating: "x", count: 30_000)))
      await bed.until("more is there than leaves") { connection.capacity == 0 }
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
}
