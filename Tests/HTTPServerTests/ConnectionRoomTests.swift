import Fixtures
import Testing

@testable import HTTPServer

/// What clients take that take all that they can.
@Suite struct ConnectionRoomTests {
  @Test func whoCloseTogetherLeaveRoomForOthers() async throws {
    try await ServerBed.run({ $0.maximumConnections = 4 }, answer: echo) { bed in
      for _ in 0..<3 {
        var clients = try (0..<4).map { _ in try RawClient(port: bed.port) }
        for client in clients {
          client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
          #expect(client.read(until: "]\n") != nil)
        }
        bed.whileItIsBusy { clients = [] }
        #expect(try bed.exchange()?.contains(" 200 ") == true)
      }
    }
  }

  @Test func whoSayNothingDoNotKeepOthersOut() async throws {
    try await ServerBed.run(
      {
        $0.exchangeTimeout = .seconds(100)
        $0.idleTimeout = .seconds(100)
        $0.maximumConnections = 4
      }, answer: echo
    ) { bed in
      var silent = try (0..<40).map { _ in try RawClient(port: bed.port) }
      for client in silent { client.send("GET / HTTP/1.1\r\nX-A: ") }
      for _ in 0..<10 {
        #expect(try bed.exchange()?.contains(" 200 ") == true)
        silent.append(try RawClient(port: bed.port))
      }
    }
  }

  @Test func whoDoNotReadDoNotKeepOthersOut() async throws {
    // 64 MiB: more than the system takes from a server whose client does not read.
    let kilobyte = String(repeating: "x", count: 1 << 10)
    let large = HTTPResponse.text(200, String(repeating: kilobyte, count: 1 << 16))
    try await ServerBed.run(
      {
        $0.exchangeTimeout = .seconds(100)
        $0.maximumConnections = 2
      }, answer: { $0.path == "/large" ? large : .text(200, "x") }
    ) { bed in
      let clients = [try RawClient(port: bed.port), try RawClient(port: bed.port)]
      for client in clients {
        client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.read(until: "xxx") != nil)
      }
      #expect(try bed.exchange()?.contains(" 200 ") == true)
    }
  }

  @Test func whoWaitsForAnAnswerKeepsItsPlace() async throws {
    let waiting = Waiters()
    try await ServerBed.run(
      { $0.maximumConnections = 2 },
      answer: { request in
        if request.path == "/slow" { await waiting.wait() }
        return .text(200, "ok")
      }
    ) { bed in
      let slow = [try RawClient(port: bed.port), try RawClient(port: bed.port)]
      for client in slow {
        client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        await waiting.somebodyWaits()
      }
      let next = try RawClient(port: bed.port)
      next.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      // It may be refused for now, however often it is looked for.
      bed.whileItIsBusy {}
      await waiting.letGo()
      for client in slow { #expect(client.read(until: "ok\n")?.contains(" 200 ") == true) }
      #expect(next.readToEnd()?.contains(" 200 ") == true)
    }
  }

  // MARK: who goes

  private func candidate(_ peer: UInt32, _ since: Int) -> Leaving.Candidate {
    Leaving.Candidate(peer: PeerAddress(number: peer), quietSince: since)
  }

  @Test func theClientWithTheMostLosesTheQuietest() {
    var candidates = [
      1: candidate(7, 10), 2: candidate(8, 30), 3: candidate(8, 20), 4: candidate(9, 5),
    ]
    #expect(Leaving.first(of: candidates) == 3)
    candidates[3] = nil
    #expect(Leaving.first(of: candidates) == 4, "one each: whoever is quiet for longest")
    #expect(Leaving.first(of: [Int: Leaving.Candidate]()) == nil)
  }
}
