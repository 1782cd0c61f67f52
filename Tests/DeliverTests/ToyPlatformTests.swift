import Model
import Testing

@testable import APNs
@testable import Deliver

/// What a platform takes, by one that nobody has.
@Suite struct ToyPlatformTests {
  private static let toy = ToyAccount.toy

  @Test func aBindingEndsInWhateverThePlatformsTokensHold() throws {
    #expect(Destination.add(ToyAccount.description) == [Self.toy])
    let member = "toy:a.b:https://push:443/x"
    let binding = try #require(Binding(member: member))
    #expect(binding.destination == Self.toy && binding.topic == "a.b")
    #expect(binding.token == "https://push:443/x" && binding.member == member)
    #expect(Binding(member: "toy:a.b:with space") == nil)
    #expect(Binding(destination: Self.toy, topic: "a.b", token: "") == nil)
  }

  /// Pushes of one batch go to both platforms; what one refuses is the other's no matter.
  @Test func oneBatchReachesBothPlatforms() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, sandbox: .served) { options in
        options.routes[Self.toy] = options.routes[.sandbox]
      }
      defer { bed.stop() }
      bed.use(AppCredentials(APNsCredentials.key(bed.tokens)).adding(AppCredentials(ToyAccount())))
      var tries = 0
      bed.sandbox.decide = { request in
        if request["to"] == "gone!" { return .answer(404) }
        tries += 1
        return tries == 1 ? .answer(503) : .answer(200)
      }
      let devices =
        hexadecimal(3).map { (Destination.production, $0) }
        + ["gone!", "one:two", "three"].map { (Self.toy, $0) }
      await bed.stage.admit(bed.batch(devices, bed.tally))
      await bed.until("settled") { bed.tally.settled == 6 }
      #expect(bed.tally.accepted == 5 && bed.tally.takeAccepted(of: Self.toy) == 2)
      #expect(bed.tally.verdicts.map(\.member) == ["toy:a.b:gone!"])
      #expect(bed.server.requests.count == 3)
      let asked = bed.sandbox.requests
      #expect(asked.count == 4 && asked.allSatisfy { $0["key"] == "open sesame" })
      #expect(Set(asked.compactMap { $0["to"] }) == ["gone!", "one:two", "three"])
      #expect(asked.allSatisfy { $0.body.hasPrefix(#"{"aps""#) && $0["apns-topic"] == nil })
    }
  }

  /// A quota is its account's: no other push waits for it.
  @Test func aQuotaHoldsUpThePushesOfItsAccount() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, sandbox: .served) { options in
        options.routes[Self.toy] = options.routes[.sandbox]
      }
      defer { bed.stop() }
      let account = ToyAccount(quota: PushQuota(project: "p-1", rate: 10))
      bed.use(AppCredentials(APNsCredentials.key(bed.tokens)).adding(AppCredentials(account)))
      let devices =
        hexadecimal(3).map { (Destination.production, $0) }
        + ["one", "two", "three"].map { (Self.toy, $0) }
      await bed.stage.admit(bed.batch(devices, bed.tally))
      await bed.until("the others' are settled, and tokens are wanted") {
        bed.tally.settled == 3 && bed.stage.limits.first?.isWanted == true
      }
      let limit = try #require(bed.stage.limits.first)
      #expect(bed.stage.limits.count == 1 && limit.description == "project p-1: 10 pushes a second")
      #expect(bed.sandbox.requests.isEmpty && !limit.isShort)
      limit.grant(2)
      bed.stage.limitsLetGo()
      await bed.until("two went") { bed.tally.settled == 5 }
      #expect(limit.tokens == 0 && limit.isShort)
      limit.grant(7)
      bed.stage.limitsLetGo()
      await bed.until("settled") { bed.tally.settled == 6 }
      #expect(limit.tokens == 6 && bed.sandbox.requests.count == 3)
    }
  }

  /// The back-off alone is 2 ms.
  @Test(arguments: [("", UInt64(1000)...), ("0", UInt64(0)...)])
  func anAnswerSaysHowLongItsPushWaitsUnlessTheServerDoes(
    retryAfter: String, wait: PartialRangeFrom<UInt64>
  ) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, sandbox: .served) { options in
        options.routes[Self.toy] = options.routes[.sandbox]
      }
      defer { bed.stop() }
      bed.use(AppCredentials(ToyAccount()))
      var times: [UInt64] = []
      bed.sandbox.decide = { _ in
        times.append(loop.now)
        guard times.count == 1 else { return .answer(200) }
        return retryAfter.isEmpty ? .answer(500) : .fields(500, [("retry-after", retryAfter)])
      }
      await bed.stage.admit(bed.batch([(Self.toy, "one")], bed.tally))
      await bed.until("settled") { bed.tally.settled == 1 }
      let waited = (times[1] - times[0]) / 1_000_000
      #expect(wait.contains(waited) && (retryAfter.isEmpty || waited < 1000))
    }
  }

  /// No clock is to blame where a server has dated the credential, and others may help.
  @Test func aYoungCredentialOfAServersThatIsRefusedIsNoMatterOfClocks() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, sandbox: .served) { options in
        options.routes[Self.toy] = options.routes[.sandbox]
        options.credentialHold = .seconds(3600)
      }
      defer { bed.stop() }
      bed.use(AppCredentials(ToyAccount()))
      bed.sandbox.decide = { _ in .answer(419) }
      await bed.stage.admit(bed.batch([(Self.toy, "one")], bed.tally))
      await bed.until("held") { bed.stage.obstacles.count == 1 }
      #expect(bed.stage.obstacles.map(\.kind) == [.credentialsRefused])
      #expect(bed.stage.obstacles.map(\.reason) == ["Busy"])
    }
  }
}
