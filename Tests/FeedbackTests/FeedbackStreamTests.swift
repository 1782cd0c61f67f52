import Deliver
import EventLoop
import Fixtures
import Legacy
import TLS
import Testing
import Transport

@testable import Feedback

/// What a feedback service may say, and how it may end.
@Suite struct FeedbackStreamTests {
  private static let tuple: [UInt8] = [0, 0, 0, 5, 0, 2, 0xAB, 0xCD]

  private func reading(
    of pieces: [[UInt8]], closes: Bool = true, repeats: Bool = false,
    _ limits: FeedbackStream.Limits = .init(timeout: .seconds(60))
  ) async throws -> FeedbackStream.Reading {
    let certificates = try TestCertificates()
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    return try await LoopActor(loop).run { _ in
      let service = Service(pieces, closes: closes, repeats: repeats)
      let listener = try Listener(
        host: "127.0.0.1", port: 0, tls: certificates.server, loop: loop
      ) { _ in service }
      defer { listener.close() }
      return await FeedbackStream(
        RouteTarget(
          endpoint: Endpoint(host: "127.0.0.1", port: listener.port), tls: certificates.client),
        limits: limits, loop: loop
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
    let wrong = try await reading(of: [Self.tuple + [0, 0, 0, 5, 0xFF, 0xFF]])
    #expect(wrong.tuples.count == 1)
    #expect(wrong.failure?.contains("is it a feedback service?") == true)
  }

  @Test func doesNotWaitForEver() async throws {
    let reading = try await reading(of: [Self.tuple], closes: false, .init(timeout: .seconds(1)))
    #expect(reading.tuples.count == 1 && reading.failure?.contains("did not close") == true)
  }

  /// A word now and then is no reason to wait for ever, nor to take whatever comes.
  @Test func readsNoLongerAndNoMoreThanItsLimits() async throws {
    let byte = try await reading(
      of: [Self.tuple] + Self.tuple.map { [$0] }, repeats: true,
      .init(timeout: .seconds(60), whole: .seconds(1), tuples: .max))
    #expect(byte.failure?.contains("did not come to its end in 1s") == true)
    #expect(!byte.tuples.isEmpty)
    let endless = try await reading(
      of: [Self.tuple], repeats: true, .init(timeout: .seconds(60), tuples: 1000))
    #expect(endless.failure?.contains("tells more than 1000 tokens") == true)
    #expect(endless.tuples.count > 1000)
    let exact = try await reading(
      of: [Self.tuple, Self.tuple], .init(timeout: .seconds(60), tuples: 2))
    #expect(exact.failure == nil && exact.tuples.count == 2)
  }

  @Test func saysWhenNobodyListens() async throws {
    let certificates = try TestCertificates()
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let reading = await LoopActor(loop).run { _ in
      await FeedbackStream(
        RouteTarget(endpoint: Endpoint(host: "127.0.0.1", port: 1), tls: certificates.client),
        limits: .init(timeout: .seconds(60)), loop: loop
      ).read()
    }
    #expect(reading.tuples.isEmpty && reading.failure?.contains("cannot be reached") == true)
  }
}

/// Tells its pieces one behind the other, each when the one before has left.
private final class Service: ConnectionDelegate {
  private var pieces: [[UInt8]]
  private let closes: Bool
  /// Tells them over and over.
  private let repeats: Bool
  private var connection: Connection?

  init(_ pieces: [[UInt8]], closes: Bool, repeats: Bool) {
    self.pieces = pieces
    self.closes = closes
    self.repeats = repeats
  }

  private func next(_ connection: Connection) {
    guard !pieces.isEmpty else {
      if closes { connection.close() }
      return
    }
    let piece = pieces.removeFirst()
    if repeats { pieces.append(piece) }
    piece.withUnsafeBytes { connection.write($0) }
  }

  func connectionOpened(_ connection: Connection) {
    self.connection = connection
    next(connection)
  }
  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {}
  func connectionDrained(_ connection: Connection) { next(connection) }
  func connectionClosed(_ connection: Connection, error: TransportError?) {}
}
