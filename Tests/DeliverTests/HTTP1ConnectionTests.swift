import EventLoop
import Fixtures
import Model
import Testing
import Transport

@testable import Deliver

/// Pushes to a service that speaks HTTP/1.1 alone.
@Suite struct HTTP1ConnectionTests {
  private typealias Server = FakeHTTP1Server

  private func rejected(_ bed: DeliverBed, _ reason: RejectionReason) -> Int {
    bed.tally.rejected[Int(reason.index)]
  }

  /// With a server that knows ALPN, and one that does not.
  @Test(arguments: [["http/1.1"], []])
  func eachPushIsARequestThatWaitsForTheAnswerBefore(protocols: [String]) async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop, protocols: protocols)
      defer { bed.stop(with: server) }
      server.decide = {
        $0.token.hasSuffix("7") ? .sayByByte(Server.created) : .say(Server.created)
      }
      let tokens = hexadecimal(40)
      await bed.send(tokens)
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 40 && bed.tally.retried == 0 && bed.stage.inFlight == 0)
      #expect(server.requests.map(\.token) == tokens && server.connections.count == 1)
      let body = #"{"aps":{"alert":"e \#(tokens[0])"}}"#
      #expect(
        server.requests.first?.head == """
          POST /toy HTTP/1.1\r
          host: 127.0.0.1:\(server.port)\r
          to: \(tokens[0])\r
          key: open sesame\r
          content-length: \(body.utf8.count)
          """)
      #expect(server.requests.first?.body == body)
      #expect(bed.stage.answerCounts.accepted == 40 && bed.stage.answerCounts.refused.isEmpty)
      let figures = try #require(bed.stage.figures["toy"])
      #expect(figures.openConnections == 1 && figures.streamLimit == 1)
      // The handshake was not made twice, and no connection has ended.
      #expect(figures.connectionCounts.opened == 1)
      #expect(ConnectionCounts.End.allCases.allSatisfy { figures.connectionCounts[$0] == 0 })
    }
  }

  @Test func aServerThatMaySpeakEitherIsSpokenToInHTTP2() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.routes[.production]?.mayUseHTTP1 = true
        $0.connectionsPerRoute = 1
      }
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(hexadecimal(20)))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 20 && bed.server.connections.count == 1)
    }
  }

  /// The server might choose HTTP/2 now, and is not asked.
  @Test func theChoiceIsRemembered() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      await bed.send(["aa"])
      await bed.until("accepted") { bed.tally.accepted == 1 }
      try server.restart(on: loop, speaking: ["h2", "http/1.1"])
      await bed.until("heard") { bed.notices.disconnects == 1 }
      await bed.send(["bb"])
      await bed.until("accepted") { bed.tally.accepted == 2 }
      #expect(server.requests.map(\.token) == ["aa", "bb"] && server.connections.count == 2)
    }
  }

  /// A server that no longer speaks HTTP/1.1 lets nobody in who offers nothing else.
  @Test func aServerThatSpeaksHTTP2AfterAllIsFound() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      await bed.send(["aa"])
      await bed.until("accepted") { bed.tally.accepted == 1 }
      server.stop()
      let other = FakeServer()
      defer { other.stop() }
      let h2 = try server.certificates.server(speaking: ["h2"])
      try other.start(on: loop, tls: h2, port: server.port)
      await bed.send(["bb"])
      await bed.until("accepted") { bed.tally.accepted == 2 }
      #expect(other.requests.map { $0["to"] } == ["bb"] && other.faults == [])
    }
  }

  // MARK: answers

  @Test func answersMeanWhatTheirPlatformSays() async throws {
    try await onLoop { _, loop in
      let (bed, server, account) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      var isBusy = true
      server.decide = { request in
        switch request.token {
        case "gone":
          return .say(
            "HTTP/1.1 404 Not Found\r\nX-Why: it ended\r\nTransfer-Encoding: chunked\r\n\r\n"
              + "5\r\nnever\r\n10\r\n came back again\r\n0\r\n\r\n")
        case "busy" where isBusy:
          isBusy = false
          return .sayByByte("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")
        default: return .say("HTTP/1.1 103 Hints\r\n\r\n" + Server.created)
        }
      }
      await bed.send(["aa", "gone", "busy", "bb"])
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 3 && bed.tally.retried == 1)
      #expect(bed.tally.verdicts.map(\.member) == ["toy:a.b:gone"])
      #expect(account.answers.words == ["404 never came back  it ended", "503 busy -"])
      #expect(server.connections.count == 1)
    }
  }

  /// The back-off alone is 2 ms, or a second where the answer does not say.
  @Test(arguments: [("Retry-After: 0\r\n", UInt64(0)..<1000), ("", 1000..<60_000)])
  func aPushWaitsAsLongAsTheServerSays(field: String, wait: Range<UInt64>) async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      var times: [UInt64] = []
      server.decide = { _ in
        times.append(loop.now)
        return .say(
          times.count > 1
            ? Server.created : "HTTP/1.1 500 Oh\r\n\(field)Content-Length: 0\r\n\r\n")
      }
      await bed.send(["aa"])
      await bed.until("accepted") { bed.tally.accepted == 1 }
      #expect(wait.contains((times[1] - times[0]) / 1_000_000))
    }
  }

  @Test func aPushThatCannotBeWrittenIsRejectedAndTheOthersAreSent() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      await bed.send(["aa", "b\r\nx: y", "cc"])
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.rejections.map(\.reason) == [.unrenderable] && bed.tally.accepted == 2)
      #expect(server.requests.map(\.token) == ["aa", "cc"])
    }
  }

  // MARK: the end of a connection

  /// Each is replaced at once: the server is in good order.
  @Test(arguments: [
    "HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.0 201 Created\r\n\r\n", "HTTP/1.1 201 Created\r\n\r\nno length",
  ])
  func aServerMayEndTheConnectionWithEachAnswer(answer: String) async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop) {
        $0.connectionsPerRoute = 1
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop(with: server) }
      server.decide = { _ in .sayAndClose(answer) }
      let tokens = hexadecimal(60)
      await bed.send(tokens)
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 60 && bed.tally.retried == 0)
      #expect(server.requests.map(\.token) == tokens && bed.notices.disconnects == 0)
      #expect(bed.stage.connectionCounts[.goAway] == 60)
    }
  }

  /// What it says last may be of use to nobody: then it is asked more and more seldom.
  @Test func aServerThatTakesNothingAndClosesIsNoServerInGoodOrder() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      server.decide = { _ in
        .sayAndClose("HTTP/1.0 503 Service Unavailable\r\n\r\n<html>busy</html>")
      }
      await bed.send(["aa"])
      await bed.until("pauses") { bed.notices.disconnects > 3 }
      server.decide = { _ in .say(Server.created) }
      await bed.until("accepted") { bed.tally.accepted == 1 }
    }
  }

  @Test func aPushInFlightOnALostConnectionIsSentAgain() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      server.decide = { [unowned server] request in
        let isFirst = server.requests.count { $0.token == request.token } == 1
        return isFirst && request.token.hasSuffix("3") ? .sayAndClose("") : .say(Server.created)
      }
      let tokens = hexadecimal(10)
      await bed.send(tokens)
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 10 && bed.tally.retried == 1)
      #expect(server.requests.count == 11 && Set(server.requests.map(\.token)) == Set(tokens))
      let lost = bed.notices.count { if case .lost(_, 1, _) = $0 { true } else { false } }
      #expect(lost == 1)
    }
  }

  /// It goes on probe connections, where it can harm no others, and is given up after some.
  @Test func aPushForWhichTheServerClosesIsTheOnlyOneRejected() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      server.decide = { $0.token == "bad" ? .sayAndClose("") : .say(Server.created) }
      let others = SegmentTally()
      await bed.send(["bad"])
      while bed.tally.settled == 0 {
        let before = others.accepted
        await bed.stage.admit(
          bed.batch(hexadecimal(5).map { (ToyAccount.toy, $0) }, others))
        await bed.until("others are taken") { others.accepted == before + 5 }
        guard server.requests.count < 5_000 else { break }
      }
      #expect(rejected(bed, .unanswered) == 1 && others.accepted == others.pushes)
    }
  }

  /// The answer is known by its head: the push was taken, or looked at.
  @Test func anAnswerThatBreaksOffCountsByItsStatus() async throws {
    try await onLoop { _, loop in
      let (bed, server, account) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      server.decide = { [unowned server] request in
        let isFirst = server.requests.count { $0.token == request.token } == 1
        return switch request.token {
        case "aa": .sayAndClose("HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nx")
        case "bb" where isFirst:
          .sayAndClose("HTTP/1.1 404 Gone\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nxx")
        case "cc" where isFirst:
          .say("HTTP/1.1 404 Gone\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n")
        default: .say(Server.created)
        }
      }
      await bed.send(["aa", "bb", "cc"])
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 3 && bed.tally.verdicts.isEmpty)
      #expect(server.requests.count { $0.token == "aa" } == 1)
      #expect(Set(account.answers.words) == ["404 xx - …", "404  - …"])
      #expect(bed.notices.count { if case .lost = $0 { true } else { false } } == 0)
    }
  }

  @Test func anAnswerWithoutALengthIsWholeWhenTheServerCloses() async throws {
    try await onLoop { _, loop in
      let (bed, server, account) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      server.decide = { _ in .sayAndClose("HTTP/1.1 404 Gone\r\n\r\nno length") }
      await bed.send(["aa"])
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(account.answers.words == ["404 no length -"] && server.requests.count == 1)
      #expect(bed.tally.verdicts.map(\.member) == ["toy:a.b:aa"])
    }
  }

  @Test func whatIsNoAnswerEndsTheConnectionAndThePushIsSentAgain() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      server.decide = { [unowned server] _ in
        .say(server.requests.count == 1 ? "SSH-2.0-OpenSSH_9.2\r\n" : Server.created)
      }
      await bed.send(["aa"])
      await bed.until("accepted") { bed.tally.accepted == 1 }
      #expect(server.connections.first?.isClosed == true && server.connections.count > 1)
      #expect(
        bed.notices.count {
          if case .lost(_, 1, "the server does not speak HTTP/1.1") = $0 { true } else { false }
        } == 1)
    }
  }

  /// As servers say before they close what is idle: nothing is in flight that it could be about.
  @Test func whatNothingWasAskedForEndsTheConnection() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      await bed.send(["aa"])
      await bed.until("accepted") { bed.tally.accepted == 1 }
      server.connections[0].perform(.say("HTTP/1.1 408 Request Timeout\r\n\r\n"))
      await bed.until("closed") { server.connections[0].isClosed }
      await bed.send(["bb"])
      await bed.until("accepted") { bed.tally.accepted == 2 }
      #expect(server.requests.map(\.connection) == [0, 1] && bed.tally.retried == 0)
    }
  }

  // MARK: time

  @Test func aPushWithoutAnAnswerIsGivenUpWithItsConnection() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop) {
        $0.connectionsPerRoute = 1
        $0.tickInterval = .milliseconds(5)
        $0.requestTimeout = .milliseconds(50)
      }
      defer { bed.stop(with: server) }
      server.decide = { [unowned server] _ in
        switch server.requests.count {
        case 1: .silence
        case 2: .say("HTTP/1.1 201 Cre")
        default: .say(Server.created)
        }
      }
      await bed.send(["aa"])
      await bed.until("accepted") { bed.tally.accepted == 1 }
      #expect(server.connections.prefix(2).filter(\.isClosed).count == 2)
      #expect(bed.notices.unanswered == 2 && bed.tally.retried == 2)
    }
  }

  /// Something on the way may have forgotten it: there is no PING that would tell.
  @Test func aConnectionThatWasQuietIsReplacedBeforeItIsSentOn() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop) {
        $0.connectionsPerRoute = 1
        $0.idleBeforePing = .milliseconds(100)
      }
      defer { bed.stop(with: server) }
      await bed.send(["aa"])
      await bed.until("accepted") { bed.tally.accepted == 1 }
      let used = loop.now
      await bed.until("quiet") { loop.now - used > 1_200_000_000 }
      #expect(server.open.count == 1)
      await bed.send(["bb"])
      await bed.until("accepted") { bed.tally.accepted == 2 }
      #expect(server.requests.map(\.connection) == [0, 1] && bed.tally.retried == 0)
      await bed.until("closed") { server.open.count == 1 }
      #expect(bed.stage.connectionCounts[.idle] == 1 && bed.notices.disconnects == 0)
    }
  }

  @Test func aConnectionThatTheServerClosesForBeingIdleIsOpenedByTheNextPush() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      await bed.send(["aa"])
      await bed.until("accepted") { bed.tally.accepted == 1 }
      let used = loop.now
      await bed.until("idle") { loop.now - used > 1_200_000_000 }
      server.connections[0].close()
      await bed.until("heard") { bed.stage.connectionCounts[.idle] == 1 }
      await bed.send(["bb"])
      await bed.until("accepted") { bed.tally.accepted == 2 }
      #expect(server.requests.map(\.connection) == [0, 1] && bed.tally.retried == 0)
    }
  }

  @Test func aWorkerThatStopsGivesUpWhatIsInFlight() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop) { $0.connectionsPerRoute = 2 }
      defer { bed.stop(with: server) }
      server.decide = { _ in .silence }
      await bed.send(hexadecimal(2))
      await bed.until("there") { server.requests.count == 2 }
      bed.stage.leave()
      bed.stage.leaveInFlight()
      #expect(bed.settledBatches == 1 && bed.stage.inFlight == 0)
      let unknown = PushHistory(tries: 0, losses: 0, refusals: 0, mayHaveArrived: true)
      #expect(bed.tally.stragglers.map(\.history) == [unknown, unknown])
    }
  }

  /// One that is retired finishes what it has.
  @Test func aConnectionDrains() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop)
      defer { bed.stop(with: server) }
      server.decide = { $0.token == "aa" ? .silence : .say(Server.created) }
      await bed.send(["aa"])
      await bed.until("there") { server.requests.count == 1 }
      let pool = try #require(bed.stage.routes.all.first).pool
      try #require(pool.slots.open.first).retire("the test says so")
      await bed.send(["bb"])
      await bed.until("accepted") { bed.tally.accepted == 1 }
      #expect(server.requests.map(\.connection) == [0, 1] && !server.connections[0].isClosed)
      server.connections[0].perform(.say(Server.created))
      await bed.until("accepted") { bed.tally.accepted == 2 }
      await bed.until("closed") { server.connections[0].isClosed }
      #expect(bed.stage.connectionCounts[.retired] == 1)
    }
  }

  // MARK: many

  /// As many as there may be, and one push on each.
  @Test func aRouteUnderLoadHasMoreConnections() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop) {
        $0.routes[ToyAccount.toy]?.connections = .init(usual: 1, most: 4, streams: 100)
        $0.growAfter = .zero
        $0.tickInterval = .milliseconds(5)
      }
      defer { bed.stop(with: server) }
      var most = 0
      server.decide = { [unowned server] _ in
        most = max(most, server.open.count { $0.isAnswering })
        // Some time passes until there is an answer.
        return .sayByByte(Server.created)
      }
      await bed.send(hexadecimal(400))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 400 && bed.tally.retried == 0)
      #expect(server.connections.count == 4 && server.requests.count == 400)
      #expect(Set(server.requests.map(\.connection)) == [0, 1, 2, 3])
    }
  }
}

/// Where 201 is how a platform accepts.
@Suite struct CreatedTests {
  private func bed(_ loop: EventLoop) throws -> (DeliverBed, ToyAccount) {
    let bed = try DeliverBed(loop, sandbox: .served) { options in
      options.routes[ToyAccount.toy] = options.routes[.sandbox]
      options.connectionsPerRoute = 1
    }
    let account = ToyAccount()
    bed.use(AppCredentials(account))
    return (bed, account)
  }

  /// It counts as 200 does, and not as a refusal.
  @Test func countsAsAcceptedOverHTTP2() async throws {
    try await onLoop { _, loop in
      let (bed, account) = try bed(loop)
      defer { bed.stop() }
      bed.sandbox.decide = { $0["to"] == "bb" ? .broken(201) : .answer(201, "created") }
      await bed.send(["aa", "bb", "cc"])
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 3 && bed.tally.takeAccepted(of: ToyAccount.toy) == 3)
      #expect(bed.stage.answerCounts.accepted == 3 && bed.stage.answerCounts.refused.isEmpty)
      let traffic = try #require(bed.stage.routes.all.first).traffic
      #expect(traffic.lastAcceptedAt > 0 && account.answers.words.isEmpty)
      #expect(bed.sandbox.requests.count == 3)
    }
  }

  @Test func countsWhereTheStreamsEndIsLostWithTheConnection() async throws {
    try await onLoop { _, loop in
      let (bed, _) = try bed(loop)
      defer { bed.stop() }
      bed.sandbox.decide = { _ in .unfinished(201) }
      bed.sandbox.afterRequests = { connection in
        connection.flush()
        connection.drop()
      }
      await bed.send(["aa"])
      await bed.until("accepted") { bed.tally.accepted == 1 }
      #expect(bed.sandbox.requests.count == 1)
    }
  }

  /// A platform may keep a header field of its answers.
  @Test func aKeptFieldOfARefusalIsRead() async throws {
    try await onLoop { _, loop in
      let (bed, account) = try bed(loop)
      defer { bed.stop() }
      bed.sandbox.decide = { _ in
        .fields(404, [("x-who", "nobody"), ("x-why", "it ended"), ("retry-after", "1")])
      }
      await bed.send(["aa"])
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(account.answers.words == ["404  it ended"])
    }
  }
}

/// A service whose address must not be connected to.
@Suite struct RefusedServiceTests {
  @Test func getsNothingAndTheOperatorIsTold() async throws {
    try await onLoop { _, loop in
      let (bed, server, _) = try DeliverBed.http1(loop) {
        $0.routes[ToyAccount.toy]?.refusesAddress = { $0.count == 4 && $0[0] == 127 }
        $0.closedAfter = .milliseconds(50)
      }
      defer { bed.stop(with: server) }
      await bed.send(["aa"])
      await bed.until("closed, and why") { "\(bed.stage.obstacles)".contains("must not be") }
      #expect(bed.stage.obstacles.map(\.kind) == [.unreachable] && server.connections.isEmpty)
    }
  }
}
