import EventLoop
import Fixtures
import Glibc
import Testing
import Threads

@testable import HTTPServer

/// Bodies that are read while they come.
@Suite struct StreamedBodyTests {
  private static func run(
    maximumBodyBytes: Int = 64 << 20, limit: Duration = .seconds(60),
    exchangeTimeout: Duration = .seconds(10), bytesPerSecond: Int = 1,
    answer: @escaping @Sendable (Reader, HTTPBodyStream) async -> HTTPResponse,
    _ body: @Sendable (Int) throws -> Void
  ) async throws {
    let loop = EventLoop(name: "http")
    defer {
      loop.stop()
      loop.join()
    }
    var options = HTTPServerOptions(wallClock: { 0 })
    options.maximumBodyBytes = 1 << 10
    options.exchangeTimeout = exchangeTimeout
    let server = HTTPServer(
      loop: loop, options: options,
      screen: { _ in
        .stream(
          HTTPBodyBounds(
            maximumBytes: maximumBodyBytes, limit: limit, bytesPerSecond: bytesPerSecond))
      },
      answer: { request in
        guard let stream = request.stream else { return .text(500, "no stream") }
        return await answer(Reader(loop), stream)
      })
    let port = try await server.start()
    do {
      try body(port)
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  /// On the loop of the server, as whoever reads a body.
  fileprivate actor Reader {
    private let loop: EventLoop

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) { self.loop = loop }

    /// Reads all of it. Says how many bytes came, their sum, whether no more were kept than there
    /// is room for, and how it ended.
    func count(_ stream: HTTPBodyStream, after waiting: Waiters? = nil) async -> HTTPResponse {
      await waiting?.wait()
      var (bytes, sum, largest) = (0, 0, 0)
      while true {
        switch await stream.next() {
        case .bytes(let piece):
          bytes += piece.count
          sum += piece.reduce(0) { $0 + Int($1) }
          largest = max(largest, piece.count)
        case let end:
          let isBounded = largest <= HTTPBodyStream.bufferLimitBytes + (64 << 10)
          return .text(200, "\(bytes) \(sum) \(isBounded) \(end)")
        }
      }
    }

    /// The loop does nothing else until a byte comes from `pipe`.
    func count(_ stream: HTTPBodyStream, afterReading pipe: Int32) async -> HTTPResponse {
      var byte: UInt8 = 0
      _ = read(pipe, &byte, 1)
      return await count(stream)
    }

    func end(of stream: HTTPBodyStream) async -> HTTPBodyStream.Piece {
      var piece = await stream.next()
      while case .bytes = piece { piece = await stream.next() }
      return piece
    }
  }

  private static func head(_ more: String) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(more)\r\n\r\n"
  }

  @Test(arguments: [0, 1, 3_000_000]) func aBodyOfAnyLengthComesWhole(bytes: Int) async throws {
    try await Self.run(answer: { await $0.count($1) }) { port in
      let client = try RawClient(port: port)
      client.send(Self.head("Content-Length: \(bytes)"))
      client.send([UInt8](repeating: 7, count: bytes))
      #expect(client.readToEnd()?.contains("\(bytes) \(7 * bytes) true end") == true)
    }
  }

  @Test func chunksComeWhole() async throws {
    try await Self.run(answer: { await $0.count($1) }) { port in
      let client = try RawClient(port: port)
      client.send(Self.head("Transfer-Encoding: chunked"))
      client.send("3\r\nabc\r\n")
      client.send("1\r\nd\r\n0\r\n\r\n")
      #expect(client.readToEnd()?.contains("4 394 true end") == true)
    }
  }

  /// While nobody reads, no more is kept than there is room for, and the client must wait.
  @Test func aClientIsHeldUpWhileNobodyReads() async throws {
    let reading = Waiters()
    try await Self.run(answer: { reader, stream in
      await reader.count(stream, after: reading)
    }) { port in
      let client = try RawClient(port: port)
      let bytes = 40_000_000
      client.send(Self.head("Content-Length: \(bytes)"))
      // What the kernel keeps for both sides is a few MiB.
      let sent = client.sendNow([UInt8](repeating: 1, count: bytes))
      #expect(sent < bytes)
      Task { await reading.letGo() }
      #expect(client.send([UInt8](repeating: 1, count: bytes - sent)))
      #expect(client.readToEnd()?.contains("\(bytes) \(bytes) true end") == true)
    }
  }

  @Test(arguments: [true, false]) func aBodyThatIsTooLargeEnds(isAnnounced: Bool) async throws {
    try await Self.run(maximumBodyBytes: 1000, answer: { await $0.count($1) }) { port in
      let client = try RawClient(port: port)
      if isAnnounced {
        client.send(Self.head("Content-Length: 1001"))
        #expect(client.readToEnd()?.contains(" 413 ") == true)
      } else {
        client.send(Self.head("Transfer-Encoding: chunked"))
        client.send("3e9\r\n" + String(repeating: "a", count: 1001) + "\r\n0\r\n\r\n")
        #expect(client.readToEnd()?.contains("tooLarge") == true)
      }
    }
  }

  /// The reader may be busy when the body proves too large: the time to answer begins then.
  @Test func theAnswerToABodyThatIsTooLargeHasItsTime() async throws {
    let reading = Waiters()
    try await Self.run(
      maximumBodyBytes: 1000, limit: .milliseconds(100),
      answer: { reader, stream in await reader.count(stream, after: reading) }
    ) { port in
      let client = try RawClient(port: port)
      client.send(
        Self.head("Transfer-Encoding: chunked") + "3e9\r\n"
          + String(repeating: "a", count: 1001) + "\r\n")
      #expect(!client.waitForClose(milliseconds: 500), "the limit of the body closes it")
      Task { await reading.letGo() }
      #expect(client.readToEnd()?.contains("tooLarge") == true)
    }
  }

  /// An answer does not wait for a body that is not read: the client hears it when it has sent all.
  @Test func anAnswerMayComeBeforeTheEndOfTheBody() async throws {
    try await Self.run(answer: { _, _ in .text(409, "stop") }) { port in
      let client = try RawClient(port: port)
      client.send(Self.head("Content-Length: 2000000"))
      client.send([UInt8](repeating: 1, count: 2_000_000))
      #expect(client.readToEnd()?.contains("409") == true)
    }
  }

  @Test func aClientThatSaysNothingOrGoesIsGivenUp() async throws {
    let ends = Ends()
    try await Self.run(
      exchangeTimeout: .milliseconds(200),
      answer: { reader, stream in
        let end = await reader.end(of: stream)
        ends.add(end)
        return .text(408, "\(end)")
      }
    ) { port in
      let silent = try RawClient(port: port)
      silent.send(Self.head("Content-Length: 10") + "abc")
      let answer = silent.readToEnd()
      #expect(answer?.contains(" 408 ") == true && answer?.contains("slowly") == true)
      var gone: RawClient? = try RawClient(port: port)
      gone?.send(Self.head("Content-Length: 10") + "abc")
      gone = nil
      let deadline = ContinuousClock.now + .seconds(20)
      while ends.all.count < 2, ContinuousClock.now < deadline { _ = poll(nil, 0, 5) }
    }
    #expect(
      ends.all == [.tooSlow(reason: "the body came more slowly than 1 bytes a second"), .broken])
  }

  /// Whoever drips keeps its place for one window, and hears why it lost it.
  @Test func whoDripsIsGivenUpSoon() async throws {
    try await Self.run(
      exchangeTimeout: .milliseconds(400), bytesPerSecond: 10_000,
      answer: { await $0.count($1) }
    ) { port in
      let client = try RawClient(port: port)
      client.send(Self.head("Transfer-Encoding: chunked"))
      var drips = 0
      while client.send("1\r\na\r\n"), drips < 500 {
        drips += 1
        if client.waitForClose(milliseconds: 20) { break }
      }
      #expect(drips < 500, "it went on dripping")
      #expect(client.readToEnd()?.contains("more slowly than 10000 bytes a second") == true)
    }
  }

  /// Whoever is fast enough has the whole time and no more.
  @Test func theWholeBodyHasALimit() async throws {
    try await Self.run(limit: .milliseconds(600), answer: { await $0.count($1) }) { port in
      let client = try RawClient(port: port)
      client.send(Self.head("Transfer-Encoding: chunked"))
      var drips = 0
      while client.send("1\r\na\r\n"), drips < 500 {
        drips += 1
        if client.waitForClose(milliseconds: 20) { break }
      }
      #expect(drips < 500, "it went on dripping")
      #expect(client.readToEnd()?.contains("did not come within") == true)
    }
  }

  /// We hold it up for longer than a window: that is not its fault.
  @Test func aClientThatWeHoldUpIsNotSlow() async throws {
    let reading = Waiters()
    try await Self.run(
      exchangeTimeout: .seconds(1), bytesPerSecond: 10_000,
      answer: { reader, stream in await reader.count(stream, after: reading) }
    ) { port in
      let client = try RawClient(port: port)
      let bytes = 40_000_000
      client.send(Self.head("Content-Length: \(bytes)"))
      // Returns when nothing more was taken for longer than a window.
      let sent = client.sendNow([UInt8](repeating: 1, count: bytes), idleMilliseconds: 1_500)
      #expect(sent < bytes)
      Task { await reading.letGo() }
      #expect(client.send([UInt8](repeating: 1, count: bytes - sent)))
      #expect(client.readToEnd()?.contains("\(bytes) \(bytes) true end") == true)
    }
  }

  /// The window ends while the loop does something else, and the kernel keeps the body.
  @Test func aClientIsNotSlowWhileTheLoopIsBusy() async throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let (mayGoOn, go) = (ends[0], ends[1])
    defer { close(mayGoOn) }
    try await Self.run(
      exchangeTimeout: .milliseconds(500), bytesPerSecond: 10_000_000,
      answer: { reader, stream in await reader.count(stream, afterReading: mayGoOn) }
    ) { port in
      defer { close(go) }
      let client = try RawClient(port: port)
      // More than a turn of the loop reads, and less than the stream keeps.
      let bytes = 200_000
      client.send(Self.head("Content-Length: \(bytes)"))
      #expect(client.sendNow([UInt8](repeating: 1, count: bytes)) == bytes)
      #expect(!client.waitForClose(milliseconds: 700))
      #expect(write(go, "x", 1) == 1)
      #expect(client.readToEnd()?.contains("\(bytes) \(bytes) true end") == true)
    }
  }

  /// It is asked for its body when somebody reads it, and else answered at once.
  @Test(arguments: [true, false]) func whoWaitsToBeAskedIs(isRead: Bool) async throws {
    try await Self.run(answer: { reader, stream in
      isRead ? await reader.count(stream) : .text(409, "stop")
    }) { port in
      let client = try RawClient(port: port)
      client.send(Self.head("Content-Length: 3\r\nExpect: 100-continue"))
      let first = try #require(client.read(until: "\r\n\r\n"))
      #expect(first.hasPrefix(isRead ? "HTTP/1.1 100 Continue\r\n" : "HTTP/1.1 409 "))
      guard isRead else { return }
      client.send("abc")
      #expect(client.readToEnd()?.contains("3 294 true end") == true)
    }
  }

  private final class Ends: Sendable {
    private let kept = ThreadLock<[HTTPBodyStream.Piece]>([])
    var all: [HTTPBodyStream.Piece] { kept.withLock { $0 } }
    func add(_ end: HTTPBodyStream.Piece) { kept.withLock { $0.append(end) } }
  }
}
