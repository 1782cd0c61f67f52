import EventLoop
import TLS
import Testing
import Transport

@testable import APNsSimulator

/// The legacy gateway and its feedback service, byte by byte. What it is sent is spelt out here, as
/// Apple's guide draws it.
@Suite struct LegacyGatewayTests {
  private func simulator() async throws -> (APNsSimulator, APNsSimulatorAddress) {
    var options = APNsSimulatorOptions(directory: try makeDirectory())
    options.binaryPort = 0
    options.feedbackPort = 0
    options.clock = { 1_700_000_000_123_456 }
    let simulator = APNsSimulator(options: options) { _ in }
    return (simulator, try await simulator.start())
  }

  /// 32 bytes; `code` is of the magic tokens' language.
  private static func token(_ code: String, _ filler: UInt8 = 0xAA) -> [UInt8] {
    let digits = Array(("fa4efa4e" + code).utf8).map { UInt8($0 < 0x3A ? $0 - 0x30 : $0 - 0x57) }
    let head = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    return head + Array(repeating: filler, count: 32 - head.count)
  }

  private static let payload = Array(#"{"aps":{}}"#.utf8)

  private static func item(_ number: UInt8, _ body: [UInt8]) -> [UInt8] {
    [number, UInt8(body.count >> 8), UInt8(body.count & 0xFF)] + body
  }

  private static func frame(
    _ identifier: UInt8, _ token: [UInt8], payload: [UInt8] = Self.payload
  ) -> [UInt8] {
    let items =
      item(1, token) + item(2, payload) + item(3, [0, 0, 0, identifier])
      + item(4, [0, 0, 0, 0]) + item(5, [10])
    return [2, 0, 0, UInt8(items.count >> 8), UInt8(items.count & 0xFF)] + items
  }

  private static func bodies(_ token: [UInt8], payload: [UInt8] = Self.payload) -> [UInt8] {
    [UInt8(token.count >> 8), UInt8(token.count & 0xFF)] + token
      + [UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
  }

  /// What comes back until the other side closes; or, where it does not, until the ledger has
  /// `requests`.
  private func answer(
    to bytes: [UInt8], at port: Int?, _ address: APNsSimulatorAddress,
    requests: Int? = nil, of simulator: APNsSimulator
  ) async throws -> [UInt8] {
    let tls = try TLSClientContext(caFile: address.authorityFile, alpn: [])
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    return try await LoopActor(loop).run { actor in
      let listener = Listening()
      let connection = Connection(
        to: Endpoint(host: address.host, port: try #require(port)), tls: tls,
        options: TransportOptions(), loop: loop, delegate: listener)
      connection.connect()
      bytes.withUnsafeBytes { connection.write($0) }
      let deadline = ContinuousClock.now + .seconds(60)
      while !listener.isClosed, ContinuousClock.now < deadline {
        if let requests, await simulator.summary().requests >= requests { break }
        await actor.wait(.milliseconds(2))
      }
      #expect(ContinuousClock.now < deadline)
      connection.close()
      return listener.bytes
    }
  }

  @Test func takesEachCommandInSilence() async throws {
    let (simulator, address) = try await simulator()
    let tokens = (0..<3).map { [UInt8](repeating: UInt8($0 + 1), count: 32) }
    let bytes =
      [0] + Self.bodies(tokens[0]) + [1, 0, 0, 0, 9, 0, 0, 0, 0] + Self.bodies(tokens[1])
      + Self.frame(3, tokens[2])
    let said = try await answer(
      to: bytes, at: address.binaryPort, address, requests: 3, of: simulator)
    #expect(said.isEmpty)
    for number in 1...3 {
      let token = String(repeating: "0\(number)", count: 32)
      #expect(await simulator.counts(of: token) == (1, 1))
    }
    await simulator.stop()
  }

  @Test func looksAtNothingBehindWhatItRefuses() async throws {
    let (simulator, address) = try await simulator()
    let good = [UInt8](repeating: 7, count: 32)
    let bytes =
      Self.frame(1, good) + Self.frame(2, Self.token("0400")) + Self.frame(3, good)
    let said = try await answer(to: bytes, at: address.binaryPort, address, of: simulator)
    #expect(said == [8, 8, 0, 0, 0, 2])
    let summary = await simulator.summary()
    #expect(summary.requests == 2 && summary.accepted == 1)
    #expect(summary.byReason == ["BadDeviceToken": 1])
    await simulator.stop()
  }

  @Test(
    arguments: [
      ("0401", 8, 2), ("0413", 7, 2), ("0500", 1, 2), ("0429", 1, 2), ("050d", 10, 1),
      ("0402", 255, 2),
    ] as [(String, UInt8, UInt8)])
  func translatesTheMagicTokens(code: String, status: UInt8, identifier: UInt8) async throws {
    let (simulator, address) = try await simulator()
    let bytes =
      Self.frame(1, [UInt8](repeating: 7, count: 32)) + Self.frame(2, Self.token(code))
    let said = try await answer(to: bytes, at: address.binaryPort, address, of: simulator)
    #expect(said == [8, status, 0, 0, 0, identifier])
    await simulator.stop()
  }

  @Test(arguments: ["0dc0", "0e02"]) func closesWithoutAWord(code: String) async throws {
    let (simulator, address) = try await simulator()
    let said = try await answer(
      to: Self.frame(1, Self.token(code)), at: address.binaryPort, address, of: simulator)
    #expect(said.isEmpty)
    await simulator.stop()
  }

  @Test(
    arguments: [
      ([3], 128, 0), ([0, 0, 0], 2, 0), ([0, 0, 101], 5, 0),
      ([1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0], 2, 5),
      ([0, 0, 1, 7, 0, 0], 4, 0), ([0, 0, 1, 7, 1, 1], 7, 0), ([2, 0, 0, 0, 3, 9, 0, 0], 128, 0),
      ([2, 0, 0, 0x10, 1], 128, 0), ([2, 0, 0, 0, 7, 3, 0, 4, 0, 0, 0, 6], 2, 6),
    ] as [([UInt8], UInt8, UInt8)])
  func saysWhatIsWrongWithAFrame(bytes: [UInt8], status: UInt8, identifier: UInt8) async throws {
    let (simulator, address) = try await simulator()
    let said = try await answer(to: bytes, at: address.binaryPort, address, of: simulator)
    #expect(said == [8, status, 0, 0, 0, identifier])
    #expect(await simulator.summary().requests == 0)
    await simulator.stop()
  }

  @Test func boundsThePayloadOfCommand2() async throws {
    let (simulator, address) = try await simulator()
    func payload(_ count: Int) -> [UInt8] {
      Array(("{\"a\":\"" + String(repeating: "x", count: count - 8) + "\"}").utf8)
    }
    let token = [UInt8](repeating: 7, count: 32)
    let bytes =
      Self.frame(1, token, payload: payload(2048)) + Self.frame(2, token, payload: payload(2049))
    let said = try await answer(to: bytes, at: address.binaryPort, address, of: simulator)
    #expect(said == [8, 7, 0, 0, 0, 2])
    #expect(await simulator.summary().accepted == 1)
    await simulator.stop()
  }

  /// The gateway takes what is gone; only the feedback service tells, once, in seconds.
  @Test func tellsWhatIsGoneOnceAndInSeconds() async throws {
    let (simulator, address) = try await simulator()
    let (now, before) = (Self.token("0410"), Self.token("0412"))
    let bytes = Self.frame(1, now) + Self.frame(2, before)
    #expect(
      try await answer(to: bytes, at: address.binaryPort, address, requests: 2, of: simulator)
        .isEmpty)
    #expect(await simulator.summary().accepted == 0)
    func seconds(_ number: UInt32) -> [UInt8] {
      [24, 16, 8, 0].map { UInt8(number >> UInt32($0) & 0xFF) }
    }
    let told = try await answer(to: [], at: address.feedbackPort, address, of: simulator)
    #expect(
      told == seconds(1_700_000_000) + [0, 32] + now + seconds(1_262_304_000) + [0, 32] + before)
    #expect(try await answer(to: [], at: address.feedbackPort, address, of: simulator).isEmpty)
    await simulator.stop()
  }

  @Test func isOffUnlessAskedFor() async throws {
    let simulator = APNsSimulator(
      options: APNsSimulatorOptions(directory: try makeDirectory())
    ) { _ in }
    let address = try await simulator.start()
    #expect(address.binaryPort == nil && address.feedbackPort == nil)
    await simulator.stop()
  }
}

private final class Listening: ConnectionDelegate {
  private(set) var bytes: [UInt8] = []
  private(set) var isClosed = false

  func connectionOpened(_ connection: Connection) {}
  func connection(_ connection: Connection, received more: UnsafeRawBufferPointer) { bytes += more }
  func connectionDrained(_ connection: Connection) {}
  func connectionClosed(_ connection: Connection, error: TransportError?) { isClosed = true }
}
