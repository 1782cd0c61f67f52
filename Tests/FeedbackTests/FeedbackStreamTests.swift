import EventLoop
import Fixtures
import LegacyAPNs
import TLS
import Testing
import Transport

@testable import Feedback

/// What a feedback service may say, and how it may end.
@Suite struct FeedbackStreamTests {
  private static let tuple: [UInt8] = [0, 0, 0, 5, 0, 2, 0xAB, 0xCD]

  private func reading(
    of pieces: [[UInt8]], closes: Bool = true, timeout: Duration = .seconds(60)
  ) async throws -> FeedbackStream.Reading {
    let certificates = try TestCertificates()
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    return try await LoopActor(loop).run { _ in
      let service = Service(pieces, closes: closes, loop)
      let listener = try Listener(
        host: "127.0.0.1", port: 0, tls: certificates.server, loop: loop
      ) { _ in service }
      defer { listener.close() }
      return await FeedbackStream(
        Endpoint(host: "127.0.0.1", port: listener.port), tls: certificates.client,
        timeout: timeout, loop: loop
      ).read()
    }
  }

  @Test func readsToTheEnd() async throws {
    let halves = [Array(Self.tuple[..<3]), Array(Self.tuple[3...])]
    for pieces in [[], [Self.tuple], halves, [Self.tuple + Self.tuple]] as [[[UInt8]]] {
      let reading = try await reading(of: pieces)
      #expect(reading.failure == nil)
      #expect(reading.tuples.count == pieces.reduce(0) { $0 + $1.count } / Self.tuple.count)
      #expect(
        reading.tuples.allSatisfy { $0 == FeedbackTuple(seconds: 5, token: [0xAB, 0xCD]) })
    }
  }

  @Test func keepsWhatCameBeforeAFailure() async throws {
    let cut = try await reading(of: [Self.tuple + Self.tuple.dropLast()])
    #expect(cut.tuples.count == 1 && cut.failure?.contains("ended within a token") == true)
    let wrong = try await reading(of: [Self.tuple, [0, 0, 0, 5, 0xFF, 0xFF]])
    #expect(wrong.tuples.count == 1)
    #expect(wrong.failure?.contains("is it a feedback service?") == true)
  }

  @Test func doesNotWaitForEver() async throws {
    let reading = try await reading(of: [Self.tuple], closes: false, timeout: .seconds(1))
    #expect(reading.tuples.count == 1 && reading.failure?.contains("did not close") == true)
  }

  @Test func saysWhenNobodyListens() async throws {
    let certificates = try TestCertificates()
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let reading = await LoopActor(loop).run { _ in
      await FeedbackStream(
        Endpoint(host: "127.0.0.1", port: 1), tls: certificates.client, timeout: .seconds(60),
        loop: loop
      ).read()
    }
    #expect(reading.tuples.isEmpty && reading.failure?.contains("cannot be reached") == true)
  }
}

/// Tells its pieces one behind the other, each when the one before has left.
private final class Service: ConnectionDelegate {
  private var pieces: [[UInt8]]
  private let closes: Bool
  private let loop: EventLoop
  private var connection: Connection?

  init(_ pieces: [[UInt8]], closes: Bool, _ loop: EventLoop) {
    self.pieces = pieces
    self.closes = closes
    self.loop = loop
  }

  private func next(_ connection: Connection) {
    guard !pieces.isEmpty else {
      if closes { connection.close() }
      return
    }
    pieces.removeFirst().withUnsafeBytes { connection.write($0) }
  }

  func connectionOpened(_ connection: Connection) {
    self.connection = connection
    next(connection)
  }
  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {}
  func connectionDrained(_ connection: Connection) { next(connection) }
  func connectionClosed(_ connection: Connection, error: TransportError?) {}
}
