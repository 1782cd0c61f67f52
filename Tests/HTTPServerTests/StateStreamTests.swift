import EventLoop
import Fixtures
import Testing
import Threads

@testable import HTTPServer

/// Answers that go on, state by state.
@Suite struct StateStreamTests {
  /// The streams that a server has given out.
  private final class Streams: Sendable {
    private let made = ThreadLock<[HTTPStateStream]>([])
    private let overs = ThreadLock(0)
    private let aliveInterval: Duration

    init(aliveInterval: Duration = .seconds(60)) { self.aliveInterval = aliveInterval }

    var all: [HTTPStateStream] { made.withLock { $0 } }
    var overCount: Int { overs.withLock { $0 } }

    func answer(_ first: String) -> HTTPResponse {
      let options = HTTPStateStream.Options(
        alive: Array(":".utf8), aliveInterval: aliveInterval, farewell: Array("gone".utf8))
      let stream = HTTPStateStream(options) { [overs] in overs.withLock { $0 += 1 } }
      stream.send(Array(first.utf8))
      made.withLock { $0.append(stream) }
      var answer = HTTPResponse(status: 200, contentType: "text/event-stream", body: [])
      answer.stream = stream
      return answer
    }

    func send(_ text: String) { for stream in all { stream.send(Array(text.utf8)) } }
  }

  private static func run(
    _ streams: Streams = Streams(), _ change: (inout HTTPServerOptions) -> Void = { _ in },
    isSecure: Bool = false, _ body: (ServerBed, Streams) async throws -> Void
  ) async throws {
    try await ServerBed.run(
      change, isSecure: isSecure, answer: { _ in streams.answer("first") }
    ) { try await body($0, streams) }
  }

  private static func open(_ bed: ServerBed, _ method: String = "GET") throws -> RawClient {
    let client = try bed.connect()
    client.send("\(method) / HTTP/1.1\r\nHost: a\r\n\r\n")
    return client
  }

  @Test(arguments: [false, true])
  func statesComeAsChunksAndTheStreamEndsWithItsFarewell(isSecure: Bool) async throws {
    try await Self.run(isSecure: isSecure) { bed, streams in
      let client = try Self.open(bed)
      let head = try #require(client.read(until: "5\r\nfirst\r\n"))
      #expect(head.contains("\r\nTransfer-Encoding: chunked\r\n"))
      #expect(head.contains("\r\nConnection: close\r\n"))
      #expect(!head.contains("Content-Length"))
      streams.send("the second")
      #expect(client.read(until: "a\r\nthe second\r\n") != nil)
      streams.all[0].end()
      streams.send("too late")
      #expect(client.readToEnd() == "4\r\ngone\r\n0\r\n\r\n")
      #expect(streams.overCount == 1)
    }
  }

  @Test func clientsOfHTTP10GetNoChunks() async throws {
    try await Self.run { bed, streams in
      let client = try bed.connect()
      client.send("GET / HTTP/1.0\r\n\r\n")
      let head = try #require(client.read(until: "first"))
      #expect(!head.contains("chunked") && head.hasSuffix("\r\n\r\nfirst"))
      streams.all[0].end()
      #expect(client.readToEnd() == "gone")
    }
  }

  @Test func headGetsTheHeadAloneAndNoStream() async throws {
    try await Self.run { bed, streams in
      let answer = try bed.exchange("HEAD")
      #expect(answer?.contains("text/event-stream") == true)
      #expect(answer?.hasSuffix("\r\n\r\n") == true)
      #expect(streams.overCount == 1)
    }
  }

  /// Whatever comes while it reads nothing, a client then reads what was on its way, and the newest
  /// state.
  @Test func slowClientSkipsToTheNewestState() async throws {
    try await Self.run { bed, streams in
      let client = try Self.open(bed)
      #expect(client.read(until: "first") != nil)
      // Far more than two sockets hold.
      let large = String(repeating: "x", count: 16 << 20)
      streams.send(large + "0")
      while !streams.all[0].hasLeft { await Task.yield() }
      for number in 1...50 { streams.send("\(large)\(number)") }
      #expect(!streams.all[0].hasLeft)
      streams.send("newest")
      streams.all[0].end()
      let rest = try #require(client.readToEnd())
      #expect(rest.utf8.count < 17 << 20)
      #expect(rest.hasSuffix("x0\r\n6\r\nnewest\r\n4\r\ngone\r\n0\r\n\r\n"))
    }
  }

  @Test func clientThatReadsNothingLosesItsConnection() async throws {
    try await Self.run(Streams(), { $0.exchangeTimeout = .milliseconds(100) }) { bed, streams in
      let client = try Self.open(bed)
      #expect(client.read(until: "first") != nil)
      streams.send(String(repeating: "x", count: 16 << 20))
      while streams.overCount == 0 { await Task.yield() }
      let rest = try #require(client.readToEnd())
      #expect(rest.utf8.count < 16 << 20)
    }
  }

  /// Its exchange is far over, and it is told that the server lives.
  @Test func quietStreamLivesOnAndShowsThatItDoes() async throws {
    let streams = Streams(aliveInterval: .milliseconds(20))
    try await Self.run(streams, { $0.exchangeTimeout = .milliseconds(50) }) { bed, streams in
      let client = try Self.open(bed)
      for _ in 0..<10 { #expect(client.read(until: "1\r\n:\r\n") != nil) }
      streams.send("still")
      #expect(client.read(until: "5\r\nstill\r\n") != nil)
      #expect(streams.overCount == 0)
    }
  }

  @Test func streamEndsWhenTheClientLeaves() async throws {
    try await Self.run { bed, streams in
      do {
        let client = try Self.open(bed)
        #expect(client.read(until: "first") != nil)
      }
      while streams.overCount == 0 { await Task.yield() }
      streams.send("to nobody")
      #expect(streams.all[0].hasLeft)
      #expect(try bed.exchange("HEAD")?.hasPrefix("HTTP/1.1 200") == true)
    }
  }

  @Test func furtherStreamsAreRefusedUntilOneEnds() async throws {
    try await Self.run(Streams(), { $0.maximumStreams = 20 }) { bed, streams in
      let clients = try (0..<20).map { _ in try Self.open(bed) }
      for client in clients { #expect(client.read(until: "first") != nil) }
      #expect(try bed.exchange()?.hasPrefix("HTTP/1.1 503") == true)
      #expect(streams.overCount == 1)
      streams.send("all")
      for client in clients { #expect(client.read(until: "3\r\nall\r\n") != nil) }
      streams.all[3].end()
      #expect(clients[3].readToEnd() != nil)
      let another = try Self.open(bed)
      #expect(another.read(until: "first") != nil)
    }
  }

  @Test func newcomersEvictNoStream() async throws {
    try await Self.run(
      Streams(),
      {
        $0.maximumStreams = 1
        $0.maximumConnections = 2
      }
    ) { bed, streams in
      let client = try Self.open(bed)
      #expect(client.read(until: "first") != nil)
      for _ in 0..<5 { #expect(try bed.exchange("HEAD")?.hasPrefix("HTTP/1.1 200") == true) }
      streams.send("still")
      #expect(client.read(until: "still") != nil)
    }
  }

  @Test func drainingServerBidsFarewell() async throws {
    let loop = EventLoop(name: "http")
    defer {
      loop.stop()
      loop.join()
    }
    let streams = Streams()
    let server = HTTPServer(loop: loop, options: HTTPServerOptions(wallClock: { 0 })) { _ in
      streams.answer("first")
    }
    let port = try await server.start()
    let clients = try (0..<5).map { _ in try RawClient(port: port) }
    for client in clients {
      client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(client.read(until: "first") != nil)
    }
    await server.drain(within: .seconds(10))
    #expect(streams.overCount == 5)
    for client in clients { #expect(client.readToEnd()?.hasSuffix("gone\r\n0\r\n\r\n") == true) }
    await server.stop()
  }

  @Test func stoppingServerBidsFarewellToThoseThatRead() async throws {
    let streams = Streams()
    var client: RawClient?
    try await Self.run(streams) { bed, _ in
      client = try Self.open(bed)
      #expect(client?.read(until: "first") != nil)
    }
    #expect(client?.readToEnd()?.hasSuffix("4\r\ngone\r\n0\r\n\r\n") == true)
    #expect(streams.overCount == 1)
  }
}
