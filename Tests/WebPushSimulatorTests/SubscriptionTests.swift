import Fixtures
import Processes
import SimulatorSupport
import Subscriptions
import TLS
import Testing
import Text
import WebPushSimulator

@testable import WebPush

/// Subscriptions that are made, and those by number.
@Suite struct SubscriptionTests {
  @Test func endpointsAreThoseOfTheirServices() async throws {
    try await withSimulator { _, bench in
      let expected = [
        Host.google: "https://fcm.googleapis.com/fcm/send/",
        Host.mozilla: "https://updates.push.services.mozilla.com/wpush/v2/",
        Host.apple: "https://web.push.apple.com/",
        Host.windows: "https://wns2-by3p.notify.windows.com/w/?token=",
        Host.other: "https://push.test/push/",
      ]
      for host in Host.all {
        let made = try await bench.simulator.makeSubscription(host: host)
        let other = try await bench.simulator.makeSubscription(host: host)
        let numbered = try await bench.simulator.numberedSubscription(7, host: host)
        let prefix = try #require(expected[host])
        for subscription in [made, other, numbered] {
          #expect(subscription.endpoint.hasPrefix(prefix))
          // 144 bits and more.
          #expect(subscription.endpoint.utf8.count >= prefix.utf8.count + 24)
          #expect(try PushEndpoint(subscription.endpoint, rules: .init(hosts: .open)).host == host)
        }
        #expect(made.endpoint != other.endpoint && made.publicKey != other.publicKey)
        #expect(made.secret != other.secret)
        #expect(numbered.endpoint.hasPrefix(prefix + "7-"))
      }
    }
  }

  @Test func aSubscriptionIsWrittenAsBrowsersDo() throws {
    let subscription = try NumberedSubscriptions(seed: 1).subscription(0, host: Host.other)
    let json = try #require(subscription.json.object)
    let keys = try #require(json["keys"]?.object)
    #expect(json["endpoint"]?.string == subscription.endpoint && json["expirationTime"] == .null)
    let read = try SubscriptionKeys(
      p256dh: keys["p256dh"]?.string ?? "", auth: keys["auth"]?.string ?? "")
    #expect(read.bytes == subscription.publicKey + subscription.secret)
  }

  @Test func numbersNeedNoMemoryAndFollowFromTheSeed() async throws {
    try await withSimulator(changed { $0.seed = 42 }) { _, bench in
      let client = try await bench.connect()
      // Another process makes them.
      let mine = try NumberedSubscriptions(seed: 42)
      let numbers = [0, 1, 999_999, Int(Int32.max)]
      for number in numbers {
        let subscription = try mine.subscription(number, host: Host.mozilla)
        let theirs = try await bench.simulator.numberedSubscription(number, host: Host.mozilla)
        #expect(subscription == theirs)
        let reply = try await client.send(bench.sender.request(subscription, "to \(number)"))
        #expect(reply.status == 201)
        let message = await bench.simulator.lastMessage(of: subscription.endpoint)
        #expect(message == Array("to \(number)".utf8))
      }
      let secrets = try numbers.map { try mine.subscription($0, host: Host.mozilla).secret }
      #expect(Set(secrets).count == numbers.count)
      let stranger = try NumberedSubscriptions(seed: 43).subscription(0, host: Host.mozilla)
      #expect(try await client.send(bench.sender.request(stranger)).status == 404)
    }
  }

  @Test func anAddressCannotBeGuessed() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let magic = MagicFault(.gone, tries: 1)
      let subscription = try await bench.simulator.numberedSubscription(7, host: Host.other, magic)
      let request = try bench.sender.request(subscription)
      #expect(request.path.hasPrefix("/push/7.1.gone-"))
      for (from, to) in [
        ("/7.1.gone-", "/8.1.gone-"), ("/7.1.gone-", "/7-"), ("/7.1.gone-", "/7.0.gone-"),
        ("/7.1.gone-", "/7.1.gone"), ("/7.1.gone-", "/07.1.gone-"),
      ] {
        let path = request.path.replacing(from, with: to)
        #expect(try await client.send(request.changed { $0.path = path }).status == 404, "\(to)")
      }
      #expect(try await client.send(request).status == 410)
    }
  }

  @Test func numbersAreBoundToTheKeyOfTheOptions() async throws {
    let key = try ES256Key.generate().publicPoint()
    try await withSimulator(changed { $0.applicationServerKey = key }) { _, bench in
      let client = try await bench.connect()
      let bound = try await bench.simulator.numberedSubscription(1, host: Host.google)
      #expect(try await client.send(bench.sender.request(bound)).status == 403)
      let free = try await bench.simulator.makeSubscription(host: Host.google)
      #expect(try await client.send(bench.sender.request(free)).status == 201)
    }
  }

  @Test func aKeyPairIsMadeForNumbers() async throws {
    try await withSimulator(changed { $0.makesVAPIDKey = true }) { _, bench in
      let client = try await bench.connect()
      let file = try #require(bench.address.vapidKeyFile)
      let pem = try ChildProcess.run(["cat", file])
      #expect(try ChildProcess.run(["stat", "-c", "%a", file]) == "600\n")
      let subscription = try await bench.simulator.numberedSubscription(1, host: Host.apple)
      let owner = try Sender(key: ES256Key(pem: pem))
      #expect(try await client.send(owner.request(subscription)).status == 201)
      #expect(try await client.send(bench.sender.request(subscription)).status == 403)
      var options = WebPushSimulatorOptions(directory: "d")
      try options.bind(toKey: pem)
      #expect(options.applicationServerKey == (try owner.key.publicPoint()))
      #expect(throws: SimulatorError.self) { try options.bind(toKey: "no key") }
    }
  }

  /// Subscriptions that were bound to the key outlive the simulator.
  @Test func keyAndCertificatesSurviveARestart() async throws {
    let scratch = try ScratchDirectory()
    var options = WebPushSimulatorOptions(directory: scratch.file("webpush"))
    options.makesVAPIDKey = true
    func files() async throws -> [String] {
      let simulator = WebPushSimulator(options: options, log: { _ in })
      let address = try await simulator.start()
      await simulator.stop()
      return try [address.authorityFile, #require(address.vapidKeyFile)].map {
        try ChildProcess.run(["cat", $0])
      }
    }
    let first = try await files()
    #expect(try await files() == first)
    options.certificateHosts.append("other.push.test")
    let named = try await files()
    #expect(named[0] != first[0] && named[1] == first[1])
    _ = try ChildProcess.run(["chmod", "644", scratch.file("webpush/vapid.pem")])
    #expect(try await files()[1] != first[1])
  }

  @Test func anEndedSubscriptionIsGone() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      for host in Host.all {
        let made = try await bench.simulator.makeSubscription(host: host)
        let numbered = try await bench.simulator.numberedSubscription(3, host: host)
        for subscription in [made, numbered] {
          let request = try bench.sender.request(subscription)
          #expect(try await client.send(request).status == 201)
          await bench.simulator.endSubscription(subscription.endpoint)
          #expect(try await client.send(request).status == 410)
          #expect(await bench.simulator.counts(of: subscription.endpoint) == (1, 1))
        }
      }
    }
  }

  /// The token of VAPID names the port then.
  @Test func endpointsMayNameThePort() async throws {
    try await withSimulator(changed { $0.endpointsNamePort = true }) { _, bench in
      let client = try await bench.connect()
      let subscription = try await bench.simulator.makeSubscription(host: Host.other)
      let origin = "https://\(Host.other):\(bench.address.port)"
      #expect(subscription.endpoint.hasPrefix(origin + "/push/"))
      var request = PushRequest()
      request.authority = "\(Host.other):\(bench.address.port)"
      request.path = String(subscription.endpoint.dropFirst(origin.utf8.count))
      request.body = try bench.sender.encrypt("x", for: subscription)
      request["authorization"] = try bench.sender.authorization("https://\(Host.other)")
      #expect(try await client.send(request).status == 403)
      request["authorization"] = try bench.sender.authorization(origin)
      let reply = try await client.send(request)
      #expect(reply.status == 201 && reply.headers["location"]?.hasPrefix(origin) == true)
      #expect(await bench.simulator.counts(of: subscription.endpoint) == (1, 1))
    }
  }

  @Test func doublesAreCounted() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      for (number, times) in [(1, 1), (2, 3), (3, 2)] {
        let subscription = try await bench.simulator.numberedSubscription(number, host: Host.apple)
        for _ in 0..<times { _ = try await client.send(bench.sender.request(subscription)) }
        #expect(await bench.simulator.counts(of: subscription.endpoint) == (times, times))
      }
      let summary = await bench.simulator.summary()
      #expect(summary.accepted == 6 && summary.duplicates == 3)
      #expect(summary.subscriptions == 3 && summary.subscriptionsAccepted == 3)
    }
  }
}
