import Fixtures
import Testing

@testable import HTTPServer

/// Bodies that nobody reads to their end, and clients that get nowhere; plain and over TLS.
@Suite struct UnreadBodyTests {
  private static let smuggled = "DELETE /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let chunked = "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n"

  /// Every answer of the connection.
  private static func answers(
    _ text: String, isSecure: Bool, screening: HTTPScreening = .withoutBody
  ) async throws -> [String] {
    var all = ""
    try await ServerBed.run(isSecure: isSecure, screen: { _ in screening }, answer: echo) { bed in
      let client = try bed.connect()
      client.send(text)
      all = try #require(client.readToEnd())
    }
    return all.split(separator: "HTTP/1.1 ").map(String.init)
  }

  @Test(
    arguments: [
      "3\r\nabc\r\n0\r\n\r\n", "3\nabc\n0\n\n", "0\r\n\r\n", "0\n\n",
      "3\r\n" + smuggled + "\r\n0\r\n\r\n",
    ], [true, false])
  func aBodyThatARouteDoesNotTakeIsRefusedAndNothingFollows(
    _ body: String, _ isSecure: Bool
  ) async throws {
    let answers = try await Self.answers(
      "GET / HTTP/1.1\r\n" + Self.chunked + body + Self.smuggled, isSecure: isSecure)
    #expect(answers.count == 1 && answers[0].hasPrefix("400 "), "\(answers)")
    #expect(answers[0].contains("takes no body") && answers[0].contains("Connection: close"))
  }

  @Test(arguments: [true, false]) func anAnnouncedBodyIsRefusedToo(isSecure: Bool) async throws {
    let answers = try await Self.answers(
      "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" + Self.smuggled,
      isSecure: isSecure)
    #expect(answers.count == 1 && answers[0].hasPrefix("400 "), "\(answers)")
  }

  /// Of a head that is refused, a body that is too large, and a chunk that is none.
  @Test(arguments: [
    (HTTPScreening.refuse(.text(401, "who?")), "3\r\nabc\r\n0\r\n\r\n", "401 "),
    (.read(maximumBodyBytes: 2), "3\r\nabc\r\n0\r\n\r\n", "413 "),
    (.read(maximumBodyBytes: 9), "3\nabc\r\n0\r\n\r\n", "400 "),
  ])
  func nothingFollowsAnAnswerToABodyThatWasNotRead(
    _ screening: HTTPScreening, _ body: String, _ status: String
  ) async throws {
    let answers = try await Self.answers(
      "POST / HTTP/1.1\r\n" + Self.chunked + body + Self.smuggled, isSecure: false,
      screening: screening)
    #expect(answers.count == 1 && answers[0].hasPrefix(status), "\(answers)")
  }

  /// A request that is refused at its head and has no body leaves the connection as it is.
  @Test func whatHasNoBodyMayBeFollowed() async throws {
    let answers = try await Self.answers(
      "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      isSecure: false, screening: .refuse(.text(403, "no")))
    #expect(answers.count == 2 && answers.allSatisfy { $0.hasPrefix("403 ") }, "\(answers)")
  }

  @Test func theTimeOfARequestRunsBehindARefusalInTheSamePacket() async throws {
    try await ServerBed.run(
      {
        $0.exchangeTimeout = .milliseconds(200)
        $0.idleTimeout = .seconds(100)
      }, screen: { _ in .refuse(.text(403, "no")) }, answer: echo
    ) { bed in
      let client = try bed.connect()
      client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT")
      let answers = try #require(client.readToEnd())
      #expect(answers.hasPrefix("HTTP/1.1 403 ") && answers.contains("HTTP/1.1 408 "))
    }
  }

  /// A proxy could take such a 408 for the answer to its next request.
  @Test func anIdleClientGetsNo408AfterARefusalThatLeftSlowly() async throws {
    // 16 MiB: more than the system takes from a server at once.
    let large = HTTPResponse.text(403, String(repeating: "x", count: 1 << 24) + "end")
    try await ServerBed.run(
      { $0.idleTimeout = .milliseconds(200) }, screen: { _ in .refuse(large) }, answer: echo
    ) { bed in
      let client = try bed.connect()
      client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      let answers = try #require(client.readToEnd())
      #expect(answers.hasPrefix("HTTP/1.1 403 ") && answers.hasSuffix("xend\n"))
    }
  }

  /// Many clients read nothing before they have sent all, however long that takes.
  @Test(arguments: [true, false])
  func anAnswerReachesWhoStillSends(isSecure: Bool) async throws {
    let bytes = [UInt8](repeating: 7, count: 64 << 10)
    try await ServerBed.run(
      { $0.exchangeTimeout = .milliseconds(100) }, isSecure: isSecure,
      screen: { _ in .refuse(.text(409, "stop")) }, answer: echo
    ) { bed in
      let client = try bed.connect()
      client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 104857600\r\n\r\n")
      // Ten times as long as an exchange.
      for _ in 0..<20 {
        let isTaken = client.send(bytes)
        #expect(isTaken)
        #expect(!client.waitForEnd(milliseconds: 50))
      }
      #expect(client.readToEnd()?.hasPrefix("HTTP/1.1 409 ") == true)
    }
  }

  @Test func whoGoesOnForTooLongIsClosed() async throws {
    try await ServerBed.run(
      { $0.lingerTimeout = .milliseconds(200) }, screen: { _ in .refuse(.text(409, "stop")) },
      answer: echo
    ) { bed in
      let client = try bed.connect()
      client.send("POST / HTTP/1.1\r\n" + Self.chunked)
      var pieces = 0
      while client.send("1\r\na\r\n"), pieces < 1_000 {
        pieces += 1
        _ = client.waitForEnd(milliseconds: 10)
      }
      #expect(pieces < 1_000, "it is read past for ever")
    }
    try await ServerBed.run(
      { $0.lingerBytes = 1 << 20 }, screen: { _ in .refuse(.text(409, "stop")) }, answer: echo
    ) { bed in
      let client = try bed.connect()
      client.send("POST / HTTP/1.1\r\n" + Self.chunked)
      let sent = client.sendNow([UInt8](repeating: 0, count: 100 << 20))
      #expect(sent < 100 << 20, "all of it is read past")
    }
  }

  // MARK: who gets nowhere

  /// Each of these is a way to keep a connection with next to nothing.
  @Test(arguments: [
    ("GET / HTTP/1.1\r\nHost: a\r\n", "X: 1\r\n"), ("GET / HTTP/1.1\r\nX: ", "a"),
    ("POST / HTTP/1.1\r\n" + chunked, "1\r\na\r\n"),
    ("POST / HTTP/1.1\r\n" + chunked + "1;", "a"),
    ("POST / HTTP/1.1\r\n" + chunked + "0\r\n", "X: 1\r\n"),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n", "a"),
  ])
  func whoDripsIsClosedAndHearsWhy(_ opening: String, _ drip: String) async throws {
    try await ServerBed.run({ $0.exchangeTimeout = .milliseconds(300) }, answer: echo) { bed in
      let client = try bed.connect()
      client.send(opening)
      var drips = 0
      while client.send(drip), drips < 1_000, !client.waitForClose(milliseconds: 10) { drips += 1 }
      #expect(drips < 1_000)
      let answer = try #require(client.readToEnd())
      #expect(answer.contains(" 408 ") || answer.contains(" 400 ") || answer.contains(" 431 "))
    }
  }

  /// A line that does not fit was looked at again and again while nothing came.
  @Test(arguments: [true, false])
  func aLineWithoutAnEndCostsNothing(isSecure: Bool) async throws {
    try await ServerBed.run(isSecure: isSecure, answer: echo) { bed in
      for opening in ["", "1;"] {
        let client = try bed.connect()
        client.send(
          "POST / HTTP/1.1\r\n" + Self.chunked + opening + String(repeating: "0", count: 20_000))
        #expect(client.readToEnd()?.hasPrefix("HTTP/1.1 400 ") == true)
      }
      let busy = try bed.processorSeconds {
        let client = try bed.connect()
        client.send("POST / HTTP/1.1\r\n" + Self.chunked + "1;aaaa")
        #expect(!client.waitForEnd(milliseconds: 500))
      }
      #expect(busy < 0.1)
    }
  }

  @Test func aConnectionWithoutARequestIsKeptForLonger() async throws {
    try await ServerBed.run(
      {
        $0.exchangeTimeout = .milliseconds(100)
        $0.idleTimeout = .milliseconds(800)
      }, answer: echo
    ) { bed in
      let client = try bed.connect()
      for _ in 0..<2 {
        #expect(!client.waitForClose(milliseconds: 300))
        // An empty line behind a body is none.
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na\r\n")
        #expect(client.read(until: "[a]\n") != nil)
      }
      #expect(!client.waitForClose(milliseconds: 300))
      #expect(client.readToEnd() == "")
    }
    #expect(HTTPServerOptions(wallClock: { 0 }).idleTimeout == .seconds(90))
  }

  /// It has asked, and waits for the answer.
  @Test func whoSendsNothingMoreIsAnswered() async throws {
    try await ServerBed.run(answer: echo) { bed in
      let client = try bed.connect()
      client.send(
        "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPUT /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nb"
      )
      client.finishSending()
      let answers = try #require(client.readToEnd())
      #expect(answers.contains("GET /1") && answers.contains("PUT /2 [] - [b]"))
    }
  }

  /// The client's end is heard of while the answer is worked on.
  @Test(arguments: ["", "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"])
  func whoHasEndedBeforeTheAnswerIsAnswered(before: String) async throws {
    let waiting = Waiters()
    try await ServerBed.run(answer: { request in
      if request.path == "/slow" { await waiting.wait() }
      return .text(200, "to \(request.path)")
    }) { bed in
      let client = try bed.connect()
      client.send(before + "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
      await waiting.somebodyWaits()
      client.finishSending()
      // By then the server has read the end.
      #expect(try bed.exchange()?.contains(" 200 ") == true)
      await waiting.letGo()
      let answers = try #require(client.readToEnd())
      #expect(answers.contains("to /slow"), "\(answers)")
      #expect(answers.contains("to /1") == !before.isEmpty)
    }
  }
}
