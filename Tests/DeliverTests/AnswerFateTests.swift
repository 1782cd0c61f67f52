import HTTP2
import Model
import Testing

@testable import APNs
@testable import Deliver

/// What becomes of pushes, answer by answer, over real connections.
@Suite struct AnswerFateTests {
  @Test func settlesEachPushOnceAndReadsEachRefusalByItself() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 1 })
      defer { bed.stop() }
      // The body of an accepted push must not stand before that of the refusal on the same slot.
      bed.server.decide = { request in
        request.token.hasSuffix("1")
          ? .answer(410, #"{"reason":"Unregistered","timestamp":1699999999999}"#)
          : .answer(200, "fine")
      }
      await bed.stage.admit(bed.batch(hexadecimal(64)))
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 60)
      #expect(bed.tally.rejections.map(\.reason) == [.unregistered])
      #expect(bed.tally.verdicts.count == 4)
      #expect(bed.server.requests.count == 64)
    }
  }

  /// Told once, counted each time, and its status decides; one without a reason is a proxy's.
  @Test func keepsWhatAppleInvents() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] request in
        guard !request.token.hasSuffix("0") else {
          return .answer(400, #"{"reason":"FutureReason"}"#)
        }
        return server.count(request.token) == 1 ? .answer(418, "short and stout") : .answer(200)
      }
      await bed.stage.admit(bed.batch(hexadecimal(16)))
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.rejections.map(\.reason) == [.other])
      let counts = bed.stage.unknownAnswers.counts.map { ($0.status, $0.reason, $1) }
        .sorted { $0.0 < $1.0 }
      #expect(counts.map(\.0) == [0, 400, 418] && counts.map(\.2) == [0, 1, 15])
      #expect(counts.map(\.1) == ["others", "FutureReason", ""])
      let refused = bed.stage.answerCounts.refused.map { ($0.status, $0.reason, $1) }
        .sorted { $0.0 < $1.0 }
      #expect(refused.map(\.0) == [400, 418] && refused.map(\.2) == [1, 15])
      #expect(refused.map(\.1) == [.other, nil] && bed.stage.answerCounts.accepted == 15)
      let told = bed.notices.count { if case .unknownAnswer = $0 { true } else { false } }
      #expect(told == 2)
    }
  }

  @Test func tellsSoManyInventionsApart() throws {
    var answers = BoundedCounts(others: UnknownAnswer.others, [.others: 0])
    let maximum = BoundedCounts<UnknownAnswer>.maximum
    let invented = (0..<100).map { UnknownAnswer(status: 400, reason: "Reason\($0)") }
    let told = invented.map { answers.count($0) }.count { $0 }
    #expect(told == maximum + 1)
    for answer in invented {
      let isNew = answers.count(answer)
      #expect(!isNew)
    }
    #expect(answers.counts.count == maximum + 1)
    #expect(answers.counts[.others] == 2 * (100 - maximum))
    var both = answers
    both.add(answers)
    #expect(both.counts[.others] == 4 * (100 - maximum))
    #expect(UnknownAnswer(status: 400, reason: "Bad\u{1b} Request").reason == "BadRequest")
    #expect(UnknownAnswer(status: 403, reason: "").words == "403 without a reason")
    let long = UnknownAnswer(status: 400, reason: String(repeating: "x", count: 999))
    #expect(long.reason.count == 64)
  }

  /// What Record writes as `first_push_ms`, `last_push_ms` and `retried`.
  @Test func notesWhenItSentFirstAndLastAndHowOftenAgain() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      let begin = bed.clock.milliseconds.load(ordering: .relaxed)
      #expect(bed.tally.firstPushAt == 0 && bed.tally.lastPushAt == 0)
      for token in ["00aa", "00bb", "00cc"] {
        bed.clock.advance(1_000)
        await bed.stage.admit(bed.batch([token]))
        await bed.until("accepted") { bed.stage.inFlight == 0 && bed.stage.readyCount == 0 }
      }
      #expect(bed.tally.accepted == 3 && bed.tally.retried == 0)
      #expect(bed.tally.firstPushAt == begin + 1_000 && bed.tally.lastPushAt == begin + 3_000)
    }
  }

  @Test(arguments: [RejectionReason.badDeviceToken, .deviceTokenNotForTopic])
  func tokensThatAppleCallsUnusableGetAVerdict(reason: RejectionReason) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = {
        $0.token == "00bb" ? .answer(400, #"{"reason":"\#(reason.name)"}"#) : .answer(200)
      }
      await bed.stage.admit(bed.batch(["00aa", "00bb", "00cc"]))
      await bed.until("all settled") { bed.settledBatches == 1 }
      let member = "apns:production:a.b:00bb"
      #expect(
        bed.tally.verdicts == [
          TokenVerdict(user: "u1", member: member, finding: .unusable(reason))
        ])
      #expect(bed.tally.accepted == 2 && bed.tally.rejections.map(\.reason) == [reason])
    }
  }

  @Test func refusalsThatComeTogetherKeepTheirReasons() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      func reason(of token: String) -> RejectionReason? {
        [.badDeviceToken, .deviceTokenNotForTopic, nil][(token.last?.hexDigitValue ?? 0) % 3]
      }
      bed.server.decide = { request in
        reason(of: request.token).map { .answer(400, #"{"reason":"\#($0.name)"}"#) } ?? .answer(200)
      }
      await bed.until("open") { bed.stage.openConnections == 1 }
      // What comes in one piece is answered in one.
      let tokens = hexadecimal(64)
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("all settled") { bed.settledBatches == 1 }
      let found = Dictionary(
        bed.tally.verdicts.map { ($0.member, $0.finding) }, uniquingKeysWith: { first, _ in first })
      for token in tokens {
        let wanted = reason(of: token).map { TokenVerdict.Finding.unusable($0) }
        #expect(found["apns:production:a.b:" + token] == wanted, "\(token)")
      }
    }
  }

  /// A push is accepted; from then on the token that it was sent with, which this returns, is too
  /// old for the server.
  private func expireToken(_ bed: DeliverBed) async throws -> String {
    await bed.stage.admit(bed.batch(["00aa"]))
    await bed.until("first accepted") { bed.tally.accepted == 1 }
    let old = try #require(bed.server.requests.first?.authorization)
    bed.clock.advance(25 * 60 * 1000)
    bed.server.decide = {
      $0.authorization == old ? .answer(403, #"{"reason":"ExpiredProviderToken"}"#) : .answer(200)
    }
    return old
  }

  /// Apple ties a connection to the token that it began with.
  @Test func aConnectionWhoseTokenHasExpiredIsLeft() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      let old = try await expireToken(bed)
      await bed.stage.admit(bed.batch(hexadecimal(20)))
      await bed.until("all settled") { bed.settledBatches == 2 }
      #expect(bed.tally.accepted == 21)
      for request in bed.server.requests {
        #expect((request.authorization == old) == (request.connection == 0))
      }
    }
  }

  @Test func aConnectionThatShutsDownIsLeft() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      bed.server.decide = {
        $0.connection == 0 ? .answer(503, #"{"reason":"Shutdown"}"#) : .answer(200)
      }
      await bed.stage.admit(bed.batch(["00aa"]))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 1)
      #expect(bed.server.requests.map(\.connection) == [0, 1])
    }
  }

  @Test func renewsAnExpiredTokenOnceThoughOldAnswersComeLater() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      _ = try await expireToken(bed)
      // One connection's refusals renew the token, and the other sends with the new one, while that
      // one's refusals of the old one are still to come.
      bed.server.delays = [0: .milliseconds(50), 1: .milliseconds(150)]
      for _ in 0..<2 {
        await bed.stage.admit(bed.batch(hexadecimal(100)))
        await loop.wait(.milliseconds(10))
      }
      await bed.until("all settled") { bed.settledBatches == 3 }
      #expect(bed.tally.accepted == 201)
      #expect(bed.notices.holds == 0)
      #expect(Set(bed.server.requests.map(\.authorization)).count == 2)
    }
  }

  @Test func asksWithFourPushesAtATimeWhileCredentialsAreRefused() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .milliseconds(20) }
      defer { bed.stop() }
      bed.server.decide = { _ in .answer(403, #"{"reason":"InvalidProviderToken"}"#) }
      await bed.stage.admit(bed.batch(hexadecimal(300)))
      await bed.until("held") { bed.notices.holds >= 1 }
      await bed.until("answered") { bed.stage.inFlight == 0 }
      let first = bed.server.requests.count
      let began = loop.now
      await bed.until("asked again and again") { bed.server.requests.count >= first + 10 }
      // Four at a time, once in 20 ms.
      #expect(loop.now - began >= 2 * 20_000_000)
      #expect(bed.settledBatches == 0)
      #expect(bed.notices.holds == 1)
      bed.server.decide = { _ in .answer(200) }
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 300)
    }
  }

  @Test func expiresPushesOnTimeWhileCredentialsAreRefused() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .seconds(3600) }
      defer { bed.stop() }
      bed.server.decide = { _ in .answer(403, #"{"reason":"InvalidProviderToken"}"#) }
      await bed.stage.admit(bed.batch(hexadecimal(100), expiresIn: 300))
      await bed.until("held") { bed.notices.holds == 1 && bed.stage.inFlight == 0 }
      await bed.stage.admit(bed.batch(hexadecimal(50), expiresIn: 300))
      let sent = bed.server.requests.count
      let began = loop.now
      await loop.wait(.milliseconds(300))
      bed.clock.advance(300)
      await bed.until("all settled") { bed.settledBatches == 2 }
      #expect(bed.tally.expired == 150)
      // One that was never refused may ask each half second.
      #expect(bed.server.requests.count <= sent + 1 + Int((loop.now - began) / 500_000_000))
    }
  }

  @Test func takesAnAcceptedHeadForAnAnswerWhenTheConnectionIsLostBehindIt() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      var dropped = false
      bed.server.decide = { _ in dropped ? .answer(200) : .unfinished(200) }
      bed.server.afterRequests = { connection in
        guard !dropped else { return }
        dropped = true
        // Once what was written has been read by the other side.
        loop.schedule(after: .milliseconds(50)) { connection.drop() }
      }
      await bed.stage.admit(bed.batch(["00aa", "00bb"]))
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 2)
      #expect(bed.server.requests.count == 2)
    }
  }

  @Test func sendsAgainWhatARefusedStreamCarriedAndCountsIt() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] in
        server.count($0.token) < 3 ? .reset(HTTP2ErrorCode.refusedStream) : .answer(200)
      }
      await bed.stage.admit(bed.batch(hexadecimal(50)))
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 50)
      #expect(bed.server.requests.count == 150)
      #expect(bed.tally.retried == 100)
      #expect(bed.stage.inFlight == 0)
    }
  }
}
