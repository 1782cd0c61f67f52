import EventLoop
import Fixtures
import Testing

@testable import HTTPServer

@Suite struct HTTPServerTests {
  @Test func aRequestIsAnsweredAndTheConnectionKept() async throws {
    try await ServerBed.run(answer: echo) { bed in
      let client = try RawClient(port: bed.port)
      for number in 1...3 {
        client.send("GET /a%20b?x=1&y=%3D&z HTTP/1.1\r\nHost: a\r\nX-A: \(number)\r\n\r\n")
        let answer = try #require(client.read(until: "]\n"))
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.contains("Content-Type: text/plain; charset=utf-8\r\n"))
        #expect(answer.hasSuffix("\r\n\r\nGET /a b [x=1;y==;z=nil] \(number) []\n"))
      }
    }
  }

  @Test func requestsSentTogetherAreAnsweredInOrder() async throws {
    try await ServerBed.run(answer: echo) { bed in
      let client = try RawClient(port: bed.port)
      client.send(
        (1...20).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined()
          + "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      let answers = try #require(client.readToEnd())
      let paths = answers.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("GET ") }
      #expect(paths.map { $0.split(separator: " ")[1] } == (1...20).map { "/\($0)" } + ["/last"])
    }
  }

  @Test(arguments: [3, 60_000]) func aBodyComesWhole(bytes: Int) async throws {
    let body = String(repeating: "b", count: bytes)
    try await ServerBed.run(answer: echo) { bed in
      let answer = try #require(try bed.exchange("POST", "/p", body: body))
      #expect(answer.hasSuffix("POST /p [] - [\(body)]\n"))
    }
  }

  @Test func aBodyInChunksAndDripsComesWhole() async throws {
    try await ServerBed.run(answer: echo) { bed in
      let client = try RawClient(port: bed.port)
      let request =
        "PUT /p HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
      for byte in request.utf8 { client.send([byte]) }
      #expect(client.readToEnd()?.hasSuffix("PUT /p [] - [abcdefg]\n") == true)
    }
  }

  @Test func headHasNoBody() async throws {
    try await ServerBed.run(answer: echo) { bed in
      let answer = try #require(try bed.exchange("HEAD"))
      #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\n"))
    }
  }

  @Test(arguments: [true, false]) func aBodyThatIsTooLargeIsRefused(isAnnounced: Bool) async throws
  {
    try await ServerBed.run({ $0.maximumBodyBytes = 100 }, answer: echo) { bed in
      #expect(
        try bed.exchange("POST", body: String(repeating: "a", count: 100))?
          .hasPrefix("HTTP/1.1 200 ") == true)
      let large = String(repeating: "a", count: 101)
      let answer =
        isAnnounced
        ? try bed.exchange("POST", body: large)
        : try bed.exchange(
          "POST", headers: "Transfer-Encoding: chunked\r\n\r\n65\r\n\(large)\r\n0\r\n")
      #expect(answer?.hasPrefix("HTTP/1.1 413 ") == true)
      #expect(answer?.hasSuffix("a body has at most 100 bytes\n") == true)
      // Whatever is left of it is read past, so that the answer reaches its client.
      let piece = "400\r\n" + String(repeating: "a", count: 1024) + "\r\n"
      let long = String(repeating: piece, count: 2_000) + "0\r\n"
      let told = try bed.exchange("POST", headers: "Transfer-Encoding: chunked\r\n\r\n" + long)
      #expect(told?.hasPrefix("HTTP/1.1 413 ") == true, "\(told ?? "nothing")")
    }
  }

  @Test(arguments: [
    "/%", "/%2", "/%zz", "/a%00b", "/?a%00=1", "/?a=%00", "/?a=%g0", "/%ff", "/?%ff", "x", "*",
    "/a#b", "/a\\b", "/{a}", "/ä", "http://b/", "http://", "ftp://a/",
  ])
  func anAddressThatIsNoneIsRefused(target: String) async throws {
    try await ServerBed.run(answer: echo) { bed in
      let answer = try #require(try bed.exchange("GET", target))
      #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
    }
  }

  @Test(arguments: [
    "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nGET /",
    "GET / HTTP/1.1\r\nHost: a\r\nX-\u{7F}: 5\r\n\r\n",
    "GET / HTTP/9.9\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
  ])
  func whatIsNoHTTPGetsNoAnswerOfOurs(text: String) async throws {
    try await ServerBed.run({ $0.exchangeTimeout = .milliseconds(300) }, answer: echo) { bed in
      let client = try RawClient(port: bed.port)
      client.send(text)
      let answer = try #require(client.readToEnd())
      #expect(!answer.contains(" 200 "), "\(answer)")
      #expect(try bed.exchange()?.contains(" 200 ") == true)
    }
  }

  @Test func aHeadThatIsTooLargeIsRefused() async throws {
    try await ServerBed.run({ $0.maximumHeadBytes = 4096 }, answer: echo) { bed in
      let header = "X-A: " + String(repeating: "a", count: 10_000) + "\r\n"
      let answer = try #require(try bed.exchange(headers: header))
      #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 431 "), "\(answer.prefix(80))")
    }
  }

  @Test func whoDripsIsGivenUp() async throws {
    try await ServerBed.run({ $0.exchangeTimeout = .milliseconds(200) }, answer: echo) { bed in
      let client = try RawClient(port: bed.port)
      client.send("GET / HTTP/1.1\r\n")
      let began = ContinuousClock.now
      while client.send("X-A: 1\r\n"), ContinuousClock.now - began < .seconds(10) {}
      #expect(client.readToEnd() != nil)
      #expect(ContinuousClock.now - began < .seconds(10))
    }
  }

  @Test func whoSaysNothingIsGivenUpAndLeavesRoom() async throws {
    try await ServerBed.run(
      {
        $0.idleTimeout = .milliseconds(200)
        $0.maximumConnections = 2
      }, answer: echo
    ) { bed in
      let silent = [try RawClient(port: bed.port), try RawClient(port: bed.port)]
      for client in silent { #expect(client.readToEnd() == "") }
      #expect(try bed.exchange()?.contains(" 200 ") == true)
    }
  }

  @Test func nobodyWaitsForAnAnswerThatDoesNotCome() async throws {
    let waiting = Waiters()
    try await ServerBed.run(
      { $0.exchangeTimeout = .milliseconds(200) },
      answer: { request in
        if request.path == "/slow" { await waiting.wait() }
        return .text(200, "ok")
      }
    ) { bed in
      let slow = try RawClient(port: bed.port)
      slow.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
      await waiting.somebodyWaits()
      #expect(try bed.exchange()?.contains(" 200 ") == true)
      // The client is told, though the answer still waits.
      let told = try #require(slow.readToEnd())
      #expect(told.hasPrefix("HTTP/1.1 503 ") && told.contains("Connection: close"), "\(told)")
      await waiting.letGo()
      #expect(try bed.exchange()?.contains(" 200 ") == true)
    }
  }

  @Test func whatIsUnderWayWhenTheServerStopsIsGivenUp() async throws {
    let waiting = Waiters()
    var client: RawClient?
    try await ServerBed.run(
      answer: { _ in
        await waiting.wait()
        return .text(200, "ok")
      }
    ) { bed in
      let slow = try RawClient(port: bed.port)
      slow.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
      await waiting.somebodyWaits()
      client = slow
    }
    #expect(client?.readToEnd()?.contains(" 200 ") == false)
    await waiting.letGo()
  }

  /// It is there, and nobody has looked at it yet.
  @Test func aRequestThatComesAsTheServerStopsIsNotBegun() async throws {
    try await EventLoop.temporary("http") { _, loop async throws in
      let server = HTTPServer(loop: loop, options: HTTPServerOptions(wallClock: { 0 })) { _ in
        .text(200, "ok")
      }
      let client = try RawClient(port: try await server.start())
      let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
      client.send(request)
      // The loop is this one: it takes the connection in meanwhile, and answers.
      for _ in 0..<500 where !client.hasBytes { await loop.wait(.milliseconds(2)) }
      #expect(client.read(until: "ok") != nil)
      client.send(request)
      // In this turn of the loop.
      await server.stop()
      #expect(client.readToEnd()?.contains(" 200 ") == false)
    }
  }

  @Test func aClientThatGoesDisturbsNobody() async throws {
    let waiting = Waiters()
    try await ServerBed.run(
      answer: { request in
        if request.path == "/slow" { await waiting.wait() }
        return .text(200, String(repeating: "x", count: 1 << 20))
      }
    ) { bed in
      for _ in 0..<8 {
        let client = try RawClient(port: bed.port)
        client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        await waiting.somebodyWaits()
      }
      await waiting.letGo()
      #expect(try bed.exchange()?.contains(" 200 ") == true)
    }
  }

  @Test func aPortIsSharedOnlyByWhoStartsAtIt() async throws {
    let loops = (0..<3).map { EventLoop(name: "http \($0)") }
    defer { for loop in loops { loop.stop() } }
    func server(_ loop: EventLoop, port: Int = 0, shares: Bool = true) -> HTTPServer {
      var options = HTTPServerOptions(wallClock: { 0 })
      options.port = port
      options.sharesPort = shares
      return HTTPServer(loop: loop, options: options) { _ in .text(200, loop.name) }
    }
    let first = server(loops[0])
    let port = try await first.start()
    let further = server(loops[1])
    #expect(try await further.start(at: port) == port)
    var answers: Set<String> = []
    for _ in 0..<1_000 where answers.count < 2 {
      let client = try RawClient(port: port)
      client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      answers.insert(client.readToEnd()?.split(separator: "\r\n\r\n").last.map(String.init) ?? "")
    }
    #expect(answers == ["http 0\n", "http 1\n"])
    for shares in [true, false] {
      await #expect(throws: HTTPServerError.self) {
        _ = try await server(loops[2], port: port, shares: shares).start()
      }
    }
    await first.stop()
    await further.stop()
  }

  /// Whoever has asked is answered before the end, and nobody else comes in.
  @Test func whatWasAskedIsAnsweredBeforeTheEnd() async throws {
    let loop = EventLoop(name: "http")
    defer { loop.stop() }
    let waiters = Waiters()
    let server = HTTPServer(loop: loop, options: HTTPServerOptions(wallClock: { 0 })) { _ in
      await waiters.wait()
      return .text(200, "done")
    }
    let port = try await server.start()
    let idle = try RawClient(port: port)
    let client = try RawClient(port: port)
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    await waiters.somebodyWaits()
    let end = Task { await server.drain(within: .seconds(60)) }
    while (try? RawClient(port: port)) != nil {}
    await waiters.letGo()
    let answer = try #require(client.readToEnd())
    #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("Connection: close"))
    await end.value
    await server.stop()
    #expect(idle.readToEnd() == "")
  }

  @Test func aPortThatIsTakenIsSaid() async throws {
    try await ServerBed.run(answer: echo) { bed in
      await #expect(throws: HTTPServerError.self) {
        try await ServerBed.run({ $0.port = bed.port }, answer: echo) { _ in }
      }
    }
    await #expect(throws: HTTPServerError.self) {
      try await ServerBed.run({ $0.host = "no such host" }, answer: echo) { _ in }
    }
  }
}
