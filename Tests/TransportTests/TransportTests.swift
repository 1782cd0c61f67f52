import EventLoop
import Fixtures
import Glibc
import Testing

@testable import TLS
@testable import Transport

@Suite struct TransportTests {
  @Test(arguments: [false, true])
  func carriesBytesBothWays(encrypted: Bool) async throws {
    let tls = try encrypted ? TestCertificates() : nil
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let received = try await LoopActor(loop).run { _ in
      let server = Echo()
      let listener = try server.listen(tls: tls?.server, on: loop)
      let client = Client(loop)
      let connection = Connection(
        to: Endpoint(host: "127.0.0.1", port: listener.port), tls: tls?.client,
        options: TransportOptions(), loop: loop, delegate: client)
      connection.connect()
      await client.until { client.isOpen }
      let message = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      message.withUnsafeBytes { connection.write($0) }
      await client.until { client.bytes.count == message.count || client.isClosed }
      let isSame = client.bytes == message
      let drained = client.drained
      connection.close()
      await client.until { server.closed == 1 }
      listener.close()
      return (isSame, drained > 0, client.isClosed)
    }
    #expect(received == (true, true, false))
  }

  /// Whoever stops a loop and has not closed what is on it: the peer hears of the end.
  @Test(arguments: [false, true])
  func connectionsEndWithTheirLoop(encrypted: Bool) async throws {
    let tls = try encrypted ? TestCertificates() : nil
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let server = Echo()
      let listener = try server.listen(tls: tls?.server, on: loop)
      defer { listener.close() }
      let endpoint = Endpoint(host: "127.0.0.1", port: listener.port)
      let other = EventLoop(name: "other")
      await LoopActor(other).run { _ in
        let client = Client(other)
        let connection = Connection(
          to: endpoint, tls: tls?.client, options: TransportOptions(), loop: other,
          delegate: client)
        connection.connect()
        await client.until { client.isOpen }
      }
      other.stop()
      let witness = Client(loop)
      await witness.until { server.closed == 1 }
    }
  }

  /// They carry nothing, so nobody else would notice; each asks for an answer.
  @Test(arguments: [40, 4000])
  func aFloodOfKeyChangesEndsTheConnection(changes: Int) async throws {
    let certificates = try TestCertificates()
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let server = Echo()
      let listener = try server.listen(tls: certificates.server, on: loop)
      defer { listener.close() }
      let client = Client(loop)
      let connection = Connection(
        to: Endpoint(host: "127.0.0.1", port: listener.port), tls: certificates.client,
        options: TransportOptions(), loop: loop, delegate: client)
      connection.connect()
      await client.until { client.isOpen && server.connections.first?.isOpen == true }
      let session = try #require(server.connections.first?.stream.tls)
      for _ in 0..<changes { try session.updateKeys() }
      Array("after".utf8).withUnsafeBytes { server.connections.first?.write($0) }
      await client.until { client.isClosed || client.bytes.count == 5 }
      #expect(client.isClosed == (changes > MessageAllowance.burst))
      connection.close()
    }
  }

  @Test func messagesOfTLSAreAllowedByTheSecond() {
    let second: UInt64 = 1_000_000_000
    let burst = MessageAllowance.burst
    func verdicts(_ arrivals: [(total: Int, at: UInt64)]) -> [Bool] {
      var allowance = MessageAllowance()
      return arrivals.map { allowance.covers($0.total, at: $0.at * second) }
    }
    #expect(
      verdicts([
        (burst, 100), (burst, 100), (burst + 5, 105), (burst + 6, 105), (burst + 7, 107),
      ]) == [true, true, true, false, true])
    #expect(verdicts([(1, 1), (burst + 2, 1_000_000)]) == [true, false], "nothing is saved")
  }

  /// Both ends: what the kernel was told, which alone ends a connection that fell silent.
  @Test func asksTheKernelToWatchOverSilence() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    var options = TransportOptions()
    options.keepAliveIdle = .seconds(31)
    options.keepAliveInterval = .seconds(11)
    options.keepAliveProbes = 4
    options.userTimeout = .milliseconds(20_500)
    let (given, fallback) = try await LoopActor(loop).run { [options] _ in
      let server = Echo()
      let listener = try server.listen(on: loop)
      defer { listener.close() }
      let client = Client(loop)
      let connection = Connection(
        to: Endpoint(host: "127.0.0.1", port: listener.port), tls: nil, options: options,
        loop: loop, delegate: client)
      connection.connect()
      await client.until { client.isOpen && !server.connections.isEmpty }
      let sockets = [connection, server.connections[0]].map { $0.stream.socket as? SystemSocket }
      return (watch(sockets[0]?.descriptor ?? -1), watch(sockets[1]?.descriptor ?? -1))
    }
    #expect(given == [1, 1, 31, 11, 4, 20_500])
    #expect(fallback == [1, 1, 30, 10, 3, 20_000])
  }

  /// Not that this host's socket has taken it: that says nothing of the other.
  @Test func knowsWhetherTheOtherHostHasWhatWasWritten() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let server = Echo()
      server.isSilent = true
      let listener = try server.listen(on: loop)
      defer { listener.close() }
      let client = Client(loop)
      let connection = Connection(
        to: Endpoint(host: "127.0.0.1", port: listener.port), tls: nil,
        options: TransportOptions(), loop: loop, delegate: client)
      #expect(!isDelivered(connection))
      connection.connect()
      await client.until { client.isOpen && server.connections.first?.isOpen == true }
      #expect(isDelivered(connection))
      server.connections[0].pauseReading()
      let piece = [UInt8](repeating: 7, count: 16 * 1024)
      while isDelivered(connection) {
        piece.withUnsafeBytes { connection.write($0) }
        connection.flush()
        await loop.wait(.milliseconds(1))
      }
      #expect(connection.pendingBytes == 0)
      server.connections[0].resumeReading()
      await client.until { isDelivered(connection) }
      connection.close()
      #expect(!isDelivered(connection))
    }
  }

  @Test func saysThatNobodyListens() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let code = try await LoopActor(loop).run { _ in
      let listener = try Listener(host: "127.0.0.1", port: 0, tls: nil, loop: loop) { _ in nil }
      let port = listener.port
      listener.close()
      return await failure(Endpoint(host: "127.0.0.1", port: port), loop: loop)
    }
    #expect(code == .unreachable)
  }

  @Test func saysThatANameDoesNotResolve() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let code = await LoopActor(loop).run { _ in
      await failure(Endpoint(host: "no-such-host.invalid", port: 1), loop: loop)
    }
    #expect(code == .unresolved)
  }

  @Test func givesUpOnAServerThatAcceptsAndIsSilent() async throws {
    let tls = try TestCertificates()
    let code = try await refusal(
      of: nil, client: tls.client, isSilent: true, timeout: .milliseconds(50))
    #expect(code == .timeout)
  }

  /// Its certificate is for 127.0.0.1, which is where "localhost" leads as well.
  @Test func refusesAServerOfAnotherName() async throws {
    let tls = try TestCertificates()
    #expect(try await refusal(of: tls.server, as: "localhost", client: tls.client) == .tls)
  }

  @Test func refusesAServerOfAnotherAuthority() async throws {
    let tls = try TestCertificates()
    #expect(try await refusal(of: tls.server, client: TestCertificates().client) == .tls)
  }

  /// Why a client does not come to a server.
  private func refusal(
    of server: TLSServerContext?, as host: String = "127.0.0.1", client: TLSClientContext,
    isSilent: Bool = false, timeout: Duration = .seconds(60)
  ) async throws -> TransportError.Code? {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    return try await LoopActor(loop).run { _ in
      let echo = Echo()
      echo.isSilent = isSilent
      let listener = try echo.listen(tls: server, on: loop)
      defer { listener.close() }
      return await failure(
        Endpoint(host: host, port: listener.port), loop: loop, tls: client, timeout: timeout)
    }
  }
}

private func watch(_ descriptor: Int32) -> [Int32] {
  let options = [
    (Int32(IPPROTO_TCP), TCP_NODELAY), (SOL_SOCKET, SO_KEEPALIVE),
    (Int32(IPPROTO_TCP), TCP_KEEPIDLE), (Int32(IPPROTO_TCP), TCP_KEEPINTVL),
    (Int32(IPPROTO_TCP), TCP_KEEPCNT), (Int32(IPPROTO_TCP), TCP_USER_TIMEOUT),
  ]
  return options.map { level, name in
    var value: Int32 = -1
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, level, name, &value, &length)
    return value
  }
}

private func failure(
  _ endpoint: Endpoint, loop: EventLoop, tls: TLSClientContext? = nil,
  timeout: Duration = .seconds(60)
) async -> TransportError.Code? {
  let client = Client(loop)
  let connection = Connection(
    to: endpoint, tls: tls, options: TransportOptions(connectTimeout: timeout), loop: loop,
    delegate: client)
  connection.connect()
  await client.until { client.isClosed }
  return client.error?.code
}

/// The other host has all that was written.
private func isDelivered(_ connection: Connection) -> Bool {
  connection.isOpen && connection.pendingBytes == 0
    && connection.acknowledgedBytes == connection.sentBytes
}
