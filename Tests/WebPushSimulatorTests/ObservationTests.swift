import Testing
import Threads
import WebPushSimulator

/// What who runs the simulator in its own process sees of it.
@Suite struct ObservationTests {
  private struct Seen: Equatable {
    let number: Int?
    let host: String
    let message: String
    let answer: WebPushAnswer
    let status: Int?
  }

  @Test func eachRequestForASubscriptionIsObservedWithItsAnswer() async throws {
    let seen = ThreadLock<[Seen]>([])
    let setup = changed {
      $0.observe = { push in
        let one = Seen(
          number: push.number, host: push.host,
          message: String(decoding: push.message, as: UTF8.self), answer: push.answer,
          status: push.status)
        seen.withLock { $0.append(one) }
      }
    }
    try await withSimulator(setup) { _, bench in
      let client = try await bench.connect()
      let good = try await bench.simulator.numberedSubscription(7, host: Host.mozilla)
      let gone = try await bench.simulator.numberedSubscription(
        8, host: Host.google, MagicFault(.gone))
      let made = try await bench.simulator.makeSubscription(host: Host.other)
      for subscription in [good, gone, made] {
        _ = try await client.send(try bench.sender.request(subscription, "hello"))
      }
      #expect(
        seen.withLock { $0 } == [
          Seen(number: 7, host: Host.mozilla, message: "hello", answer: .accept, status: 201),
          Seen(
            number: 8, host: Host.google, message: "hello", answer: WebPushAnswer(.gone),
            status: 410),
          Seen(number: nil, host: Host.other, message: "hello", answer: .accept, status: 201),
        ])
    }
  }

  @Test func subscriptionsFollowFromASeedOfTheirOwn() async throws {
    let setup = changed {
      $0.seed = 2
      $0.subscriptionSeed = 3
    }
    try await withSimulator(setup) { _, bench in
      let subscription = try await bench.simulator.numberedSubscription(7, host: Host.google)
      let expected = try NumberedSubscriptions(seed: 3).subscription(7, host: Host.google)
      #expect(subscription == expected)
    }
  }

  @Test(arguments: [true, false])
  func signaturesAreLookedAtUnlessNobodyWantsIt(checks: Bool) async throws {
    try await withSimulator(changed { $0.checksSignatures = checks }) { _, bench in
      let client = try await bench.connect()
      let subscription = try await bench.simulator.makeSubscription(host: Host.other)
      var request = try bench.sender.request(subscription)
      let value = try #require(request["authorization"])
      let parts = value.split(separator: ", k=")
      let end = try #require(parts.first?.lastIndex(of: "."))
      let signature = String(repeating: "A", count: 86)
      request["authorization"] = "\(value[...end])\(signature), k=\(parts[1])"
      #expect(try await client.send(request).status == (checks ? 403 : 201))
    }
  }
}
