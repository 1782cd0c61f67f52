import EventLoop
import Fixtures
import Legacy
import Model
import Testing
import Transport

@testable import APNs
@testable import Deliver

/// Pushes over the legacy binary interface: what was taken, what goes again, and what is refused.
@Suite struct BinaryConnectionTests {
  private func rejected(_ bed: DeliverBed, _ reason: RejectionReason) -> Int {
    bed.tally.rejected[Int(reason.index)]
  }

  private var tokens: [String] { hexadecimal(10) }

  @Test func silenceIsAssentAndEachPushIsAFrameOfCommand2() async throws {
    try await onLoop { _, loop in
      let (bed, gateway) = try DeliverBed.binary(loop, acceptedAfter: .seconds(3))
      defer { bed.stop(with: gateway) }
      let headers = PushHeaders(
        pushType: .alert, priority: 1, topic: "a.b", collapseID: "c", expiration: 1_700_000_600,
        expiresAt: 1_700_000_600_000)
      await bed.stage.admit(
        bed.batch(tokens.map { (.production, $0) }, bed.tally, headers))
      await bed.until("sent") { gateway.heard.count == 10 }
      #expect(bed.tally.accepted == 0)
      await bed.until("accepted") { bed.tally.accepted == 10 }
      #expect(gateway.connections.count == 1 && gateway.tokens(on: 0) == tokens)
      let sent = gateway.heard.map(\.notification)
      #expect(sent.map(\.identifier) == Array(1...10))
      #expect(sent.allSatisfy { $0.priority == 5 && $0.expiration == 1_700_000_600 })
      #expect(
        sent.first.map { String(decoding: $0.payload, as: UTF8.self) }
          == #"{"aps":{"alert":"e \#(tokens[0])"}}"#)
      #expect(bed.settledBatches == 1 && bed.stage.inFlight == 0)
    }
  }

  /// Apple's gateways knew nothing else.
  @Test func aCertificateIsShownToTheGateway() async throws {
    try await onLoop { _, loop in
      let gateway = FakeGateway()
      gateway.decide = { _ in .take }
      let (known, strange) = try (
        DeliverBed.certificates.get(), TestCertificates(isTrusted: false)
      )
      try gateway.start(on: loop, tls: known.server)
      // Each would connect to another server only.
      let identity = ClientIdentity(
        .init(http2: strange.client, withoutProtocol: known.client, expiresAt: .max, words: ""))
      let bed = try DeliverBed(
        loop, credentials: AppCredentials(APNsCredentials.certificate(identity))
      ) {
        $0.routes[.production] = RouteTarget(
          endpoint: gateway.endpoint, tls: strange.client,
          interface: BinaryInterface(acceptedAfter: DeliverBed.acceptedAfter))
      }
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens.map { (.production, $0) }, bed.tally))
      await bed.until("accepted") { bed.tally.accepted == 10 }
    }
  }

  @Test func sendsAgainInOrderWhatStandsBehindAnInvalidToken() async throws {
    try await onLoop { _, loop in
      let bad = tokens[3]
      let (bed, gateway) = try DeliverBed.binary(loop) {
        $0.token == bad ? .refuse(.invalidToken, $0.notification.identifier) : .take
      }
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 9 && rejected(bed, .badDeviceToken) == 1)
      #expect(bed.tally.verdicts.map(\.finding) == [.unusable(.badDeviceToken)])
      #expect(bed.tally.verdicts.first?.member.hasSuffix(":" + bad) == true)
      #expect(gateway.tokens(on: 0) == Array(tokens[...3]))
      #expect(gateway.tokens(on: 1) == Array(tokens[4...]))
      #expect(
        gateway.heard.filter { $0.connection == 1 }.map(\.notification.identifier)
          == Array(1...6))
      // Nobody has looked at them: that was no try.
      #expect(bed.tally.retried == 0)
    }
  }

  @Test func aShutdownNamesTheLastThatWasTaken() async throws {
    try await onLoop { _, loop in
      let (bed, gateway) = try DeliverBed.binary(loop) {
        $0.connection == 0 && $0.notification.identifier == 6 ? .refuse(.shutdown, 4) : .take
      }
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 10)
      #expect(gateway.tokens(on: 1) == Array(tokens[4...]))
    }
  }

  @Test(
    arguments: [
      (2, .missingDeviceToken), (3, .missingTopic), (4, .payloadEmpty), (5, .badDeviceToken),
      (6, .badTopic), (7, .payloadTooLarge), (128, .other), (255, .other), (99, .other),
    ] as [(UInt8, RejectionReason)])
  func whatIsOurFaultIsRejectedAndTheTokenStays(code: UInt8, reason: RejectionReason) async throws {
    try await onLoop { _, loop in
      let bad = tokens[3]
      let (bed, gateway) = try DeliverBed.binary(loop) {
        $0.token == bad ? .refuse(LegacyStatus(code), $0.notification.identifier) : .take
      }
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 9 && rejected(bed, reason) == 1)
      #expect(bed.tally.verdicts.isEmpty)
      let alerts = bed.notices.count {
        if case .configurationRejected = $0 { true } else { false }
      }
      #expect(alerts == (code == 7 ? 0 : 1))
    }
  }

  @Test func aProcessingErrorIsTriedAgain() async throws {
    try await onLoop { _, loop in
      let bad = tokens[3]
      var refusals = 0
      let (bed, gateway) = try DeliverBed.binary(loop) {
        guard $0.token == bad, refusals == 0 else { return .take }
        refusals += 1
        return .refuse(LegacyStatus(1), $0.notification.identifier)
      }
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 10 && bed.tally.retried == 1)
      #expect(gateway.heard.count { $0.token == bad } == 2)
    }
  }

  @Test func nothingIsLostWhenConnectionsEndWithoutAWord() async throws {
    try await onLoop { _, loop in
      let (bed, gateway) = try DeliverBed.binary(loop) {
        $0.connection < 2 && $0.notification.identifier == 5 ? .close : .take
      }
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 10)
      #expect(Set(gateway.heard.map(\.token)) == Set(tokens))
      #expect(gateway.heard.count > 10 && bed.tally.retried > 0)
    }
  }

  @Test func tellsOfPushesThatWereTakenForAcceptedTooSoon() async throws {
    try await onLoop { _, loop in
      let (bed, gateway) = try DeliverBed.binary(loop, acceptedAfter: .milliseconds(20))
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 10)
      gateway.connections[0].say([8, 8, 0, 0, 0, 3])
      await bed.until("told") {
        bed.notices.all.withLock { $0.contains(.refusedLate(gateway.endpoint, pushes: 8)) }
      }
    }
  }

  /// It may say so on every connection, and no token of ours would be why.
  @Test func aGatewayThatNamesNoneOfOursIsAskedMoreAndMoreSeldom() async throws {
    try await onLoop { _, loop in
      let (bed, gateway) = try DeliverBed.binary(loop) {
        $0.connection < 3 ? .refuse(.shutdown, 0) : .take
      }
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 10 && bed.tally.retried > 0)
      let waits = bed.notices.count {
        if case .disconnected = $0 { true } else { false }
      }
      #expect(waits == 3)
    }
  }

  @Test func anotherConnectionGoesOnWhenIdentifiersAreUsedUp() async throws {
    try await onLoop { _, loop in
      let (bed, gateway) = try DeliverBed.binary(loop, firstIdentifier: .max - 4)
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 10 && bed.tally.retried == 0)
      #expect(gateway.heard.map(\.token) == tokens)
      #expect((0..<3).map { gateway.tokens(on: $0).count } == [4, 4, 2])
      #expect(gateway.heard.allSatisfy { $0.notification.identifier >= .max - 4 })
    }
  }

  /// One that takes no more pushes still hears what becomes of those on their way.
  @Test func aRefusalOnAConnectionThatIsLeftIsHeard() async throws {
    try await onLoop { _, loop in
      let bad = tokens[1]
      let (bed, gateway) = try DeliverBed.binary(loop, firstIdentifier: .max - 4) {
        $0.token == bad ? .refuse(.invalidToken, $0.notification.identifier) : .take
      }
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 9 && rejected(bed, .badDeviceToken) == 1)
      #expect(bed.tally.retried == 0 && gateway.heard.count == 10)
      #expect(gateway.tokens(on: 0) == Array(tokens[...1]))
      let counts = bed.stage.answerCounts
      let refusal = AnswerCounts.Refusal(status: 8, reason: nil, interface: "binary")
      #expect(counts.accepted == 9 && counts.refused == [refusal: 1])
    }
  }

  /// Half of an error response names nobody; what stands behind a whole one says nothing.
  @Test(
    arguments: [
      ([8, 8, 0, 0], 10, 0), ([8, 8, 0, 0, 0, 4, 8, 8, 0, 0, 0, 5], 9, 1),
    ] as [([UInt8], Int, Int)])
  func readsOneErrorResponseAndNoMore(bytes: [UInt8], accepted: Int, refused: Int) async throws {
    try await onLoop { _, loop in
      let (bed, gateway) = try DeliverBed.binary(loop) {
        $0.connection == 0 && $0.notification.identifier == 4 ? .say(bytes) : .take
      }
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == accepted && rejected(bed, .badDeviceToken) == refused)
      #expect((bed.tally.retried > 0) == (refused == 0))
    }
  }

  @Test func whatIsNoErrorResponseEndsTheConnection() async throws {
    try await onLoop { _, loop in
      let (bed, gateway) = try DeliverBed.binary(loop)
      defer { bed.stop(with: gateway) }
      await bed.until("connected") { bed.stage.openConnections == 1 }
      gateway.connections[0].say(Array("HTTP/1".utf8))
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 10 && gateway.connections.count > 1)
    }
  }

  @Test func aPayloadBeyondWhatTheInterfaceTakesIsNotSent() async throws {
    try await onLoop { _, loop in
      let (bed, gateway) = try DeliverBed.binary(loop)
      defer { bed.stop(with: gateway) }
      let headers = bed.batch([]).headers
      let event = String(repeating: "x", count: 2048)
      await bed.stage.admit(bed.batch([(.production, "00aa")], bed.tally, headers, event: event))
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.tally.accepted == 10 }
      #expect(rejected(bed, .unrenderable) == 1)
      #expect(gateway.heard.count == 10)
    }
  }

  @Test func sendsNoMoreThanTheWindowAhead() async throws {
    try await onLoop { _, loop in
      let gateway = FakeGateway()
      let certificates = try DeliverBed.certificates.get()
      try gateway.start(on: loop, tls: certificates.server)
      let bed = try DeliverBed(loop) {
        $0.connectionsPerRoute = 1
        $0.streamsPerConnection = 4
        $0.routes[.production] = RouteTarget(
          endpoint: gateway.endpoint, tls: certificates.client,
          interface: BinaryInterface(acceptedAfter: .milliseconds(100)))
      }
      defer { bed.stop(with: gateway) }
      var most = 0
      gateway.decide = { _ in
        most = max(most, gateway.heard.count - bed.tally.accepted)
        return .take
      }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(most <= 4 && bed.tally.accepted == 10)
    }
  }

  /// What is known when the worker stops is kept, and the rest leaves as what may have arrived.
  @Test func whatHasNoWordLeavesWithTheWorker() async throws {
    try await onLoop { _, loop in
      let (bed, gateway) = try DeliverBed.binary(loop, acceptedAfter: .seconds(600))
      defer { bed.stop(with: gateway) }
      await bed.stage.admit(bed.batch(tokens))
      await bed.until("sent") { gateway.heard.count == 10 }
      bed.stage.leave()
      bed.stage.leaveInFlight()
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 0 && bed.tally.stragglers.count == 10)
      #expect(bed.tally.stragglers.allSatisfy { $0.history.mayHaveArrived })
    }
  }
}
