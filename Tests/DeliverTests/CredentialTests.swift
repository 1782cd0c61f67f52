import EventLoop
import Model
import Synchronization
import Testing

@testable import APNs
@testable import Deliver

/// Refusals of our credentials, over real connections: whose matter they are.
@Suite struct CredentialTests {
  private func devices(_ count: Int) -> [(destination: Destination, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  private static let invalid = FakeServer.Reply.answer(403, #"{"reason":"InvalidProviderToken"}"#)

  /// The push that is refused must not be the one that asks again while everybody waits.
  @Test func oneRefusedTokenCostsTheOthersOfItsTopicNothing() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .seconds(3600) }
      defer { bed.stop() }
      let all = devices(1000)
      bed.server.decide = { $0.token == all[0].token ? Self.invalid : .answer(200) }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(all, tally))
      await bed.until("the others are taken") { tally.accepted == 999 }
      await bed.until("it is tried again") { bed.server.count(all[0].token) > 2 }
      #expect(tally.rejections.isEmpty && bed.notices.holds == 0 && bed.stage.obstacles == [])
      bed.clock.advance(600_000)
      await bed.until("its time is over") { bed.settledBatches == 1 }
      #expect(tally.expired == 1 && tally.settled == 1000)
    }
  }

  private static let reasons = [
    "BadCertificate", "BadCertificateEnvironment", "InvalidProviderToken", "MissingProviderToken",
    "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken", "ExpiredProviderToken",
    "TooManyProviderTokenUpdates",
  ]

  /// Credentials are refused from some moment on, while hundreds are in flight on two connections
  /// and are still taken; later they are taken again. Nobody is rejected, and all arrive once.
  @Test(arguments: reasons)
  func aRefusalOfOurCredentialsRejectsNobody(_ reason: String) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 200 }) {
        $0.credentialHold = .milliseconds(20)
      }
      defer { bed.stop() }
      var requests = 0
      var isMended = false
      bed.server.decide = { _ in
        requests += 1
        let isRefused = !isMended && requests > 300 && (requests > 800 || requests % 2 == 0)
        return isRefused ? .answer(403, #"{"reason":"\#(reason)"}"#) : .answer(200)
      }
      let tallies = (0..<4).map { _ in SegmentTally() }
      for (index, tally) in tallies.enumerated() {
        let devices = hexadecimal(500).map { (Destination.production, "a\(index)" + $0) }
        await bed.stage.admit(bed.batch(devices, tally))
      }
      await bed.until("held") { bed.stage.obstacles.count == 1 }
      await bed.until("asked again") { requests > 820 }
      isMended = true
      await bed.until("settled") { bed.settledBatches == 4 }
      #expect(tallies.allSatisfy { $0.accepted == 500 && $0.rejections.isEmpty })
    }
  }

  /// As a server says it that learns a new key, one machine after the other.
  @Test func whereHalfOfTheAnswersAreRefusalsAllArriveInTheEnd() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .milliseconds(20) }
      defer { bed.stop() }
      var random = SystemRandomNumberGenerator()
      bed.server.decide = { _ in
        Bool.random(using: &random) ? Self.invalid : .answer(200)
      }
      let tally = await bed.admitTwoThousand()
      await bed.until("settled") { bed.settledBatches == 4 }
      #expect(tally.accepted == 2000 && tally.rejections.isEmpty)
    }
  }

  /// Another key would not help, and an operator is not told to look at it.
  @Test func aYoungTokenThatIsCalledExpiredIsAMatterOfClocks() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .seconds(3600) }
      defer { bed.stop() }
      bed.server.decide = { _ in .answer(403, #"{"reason":"ExpiredProviderToken"}"#) }
      await bed.stage.admit(bed.batch(hexadecimal(1)))
      await bed.until("held") { bed.stage.obstacles.count == 1 }
      #expect(bed.stage.obstacles.map(\.kind) == [.clocksDiffer])
      #expect(bed.stage.obstacles.map(\.reason) == ["ExpiredProviderToken"])
    }
  }

  @Test func anEventAfterALoneRefusedPushLeavesAtOnce() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .seconds(3600) }
      defer { bed.stop() }
      bed.server.decide = { $0.token == "00bad0" ? Self.invalid : .answer(200) }
      let refused = SegmentTally()
      await bed.stage.admit(bed.batch([(.production, "00bad0")], refused))
      await bed.until("held") { bed.stage.obstacles.count == 1 }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(100), tally))
      await bed.until("accepted") { tally.accepted == 100 }
      #expect(bed.stage.obstacles == [] && tally.unsent == 0)
    }
  }

  @Test(arguments: [
    ("", "403 without a reason"), ("<html>forbidden</html>", "403 without a reason"),
    (
      #"{"reason":"NobodyKnowsThis"}"#, "403 NobodyKnowsThis, which is not documented"
    ),
  ])
  func aRefusalWithoutADocumentedReasonHoldsToo(body: String, words: String) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .milliseconds(50) }
      defer { bed.stop() }
      bed.server.decide = { _ in .answer(403, body) }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(100), tally))
      await bed.until("held") { bed.stage.obstacles.count == 1 }
      #expect(bed.stage.obstacles.map(\.reason) == [words])
      #expect(tally.settled == 0)
      bed.server.decide = { _ in .answer(200) }
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.accepted == 100 && bed.stage.obstacles == [])
    }
  }

  @Test func anotherPushAsksEachTime() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 1 }) {
        $0.connectionsPerRoute = 1
        $0.credentialHold = .milliseconds(5)
      }
      defer { bed.stop() }
      bed.server.decide = { _ in Self.invalid }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(30), tally))
      await bed.until("all were asked with") { bed.server.requests.count >= 30 }
      #expect(Set(bed.server.requests.prefix(30).map(\.token)).count == 30)
      #expect(tally.settled == 0)
    }
  }

  @Test func theKeyOfOneEnvironmentStopsNoOther() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, sandbox: .served) { $0.credentialHold = .seconds(3600) }
      defer { bed.stop() }
      bed.sandbox.decide = { _ in .answer(403, #"{"reason":"BadEnvironmentKeyIdInToken"}"#) }
      let tally = SegmentTally()
      let mixed = devices(100) + hexadecimal(100).map { (.sandbox, "aa" + $0) }
      await bed.stage.admit(bed.batch(mixed, tally))
      await bed.until("production") { tally.accepted == 100 }
      // Those that were in flight at the first refusal say nothing: some ask a second time.
      await bed.until("held") { tally.unsent == 0 && !bed.stage.obstacles.isEmpty }
      #expect(
        bed.stage.obstacles.map(\.description) == ["sandbox a.b: BadEnvironmentKeyIdInToken"])
    }
  }

  @Test func aKeyThatSignsNothingIsAnObstacleAndMendsItself() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .milliseconds(50) }
      defer { bed.stop() }
      bed.canSign.value.store(false, ordering: .relaxed)
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(10), tally))
      await bed.until("known") { bed.stage.obstacles.map(\.kind) == [.noToken] }
      #expect(tally.unsent == 0)
      #expect(bed.stage.obstacles.first.map { "\($0)".contains("apns.key_file") } == true)
      bed.canSign.value.store(true, ordering: .relaxed)
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.accepted == 10 && bed.stage.obstacles == [])
    }
  }

  /// Nothing is sent that Apple would refuse, and nothing is lost.
  @Test func anExpiredCertificateIsAnObstacleUntilAnotherIsThere() async throws {
    try await onLoop { _, loop in
      let certificates = try DeliverBed.certificates.get()
      let identity = ClientIdentity(certificates.identity(expiresAt: 1))
      let bed = try DeliverBed(
        loop, credentials: AppCredentials(APNsCredentials.certificate(identity))
      ) {
        $0.credentialHold = .seconds(3600)
      }
      defer { bed.stop() }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(10), tally))
      await bed.until("known") { bed.stage.obstacles.map(\.kind) == [.certificateExpired] }
      #expect(
        bed.stage.obstacles.map(\.description)
          == ["production: the certificate has expired (a certificate for a.b)"])
      #expect(bed.server.requests.isEmpty && tally.settled == 0)
      identity.use(certificates.identity())
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.accepted == 10 && bed.stage.obstacles == [])
      #expect(bed.server.requests.count == 10)
    }
  }
}
