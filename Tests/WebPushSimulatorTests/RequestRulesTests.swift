import Fixtures
import TLS
import Testing
import Text
import WebPushSimulator

/// Requests in order, and what each service says to one that is not.
@Suite struct RequestRulesTests {
  @Test(arguments: Host.all + [Host.http1])
  func aRequestInOrderIsAccepted(host: String) async throws {
    try await withSimulator { _, bench in
      let key = try bench.sender.key.publicPoint()
      let subscription = try await bench.simulator.makeSubscription(
        host: host, applicationServerKey: key)
      let client = try await bench.connect()
      let reply = try await client.send(bench.sender.request(subscription, "héllo"))
      #expect(reply.status == 201 && reply.body.isEmpty)
      #expect(reply.headers["location"]?.hasPrefix("https://\(host)/m/") == true)
      #expect(reply.headers["ttl"] == "90")
      #expect((reply.headers["apns-id"]?.utf8.count == 36) == (host == Host.apple))
      #expect((reply.headers["x-wns-status"] == "received") == (host == Host.windows))
      let endpoint = subscription.endpoint
      #expect(await bench.simulator.counts(of: endpoint) == (1, 1))
      #expect(await bench.simulator.lastStatus(of: endpoint) == 201)
      #expect(await bench.simulator.lastMessage(of: endpoint) == Array("héllo".utf8))
    }
  }

  /// What is spoiled, and the answers of Google, Mozilla, Apple, Microsoft and any other.
  struct Spoiled: Sendable {
    let name: String
    let change: @Sendable (inout PushRequest) -> Void
    let verdicts: [String]

    init(
      _ name: String, _ verdicts: [String],
      _ change: @escaping @Sendable (inout PushRequest) -> Void
    ) {
      self.name = name
      self.verdicts = verdicts
      self.change = change
    }

    static func field(_ name: String, _ value: String?, _ verdicts: [String]) -> Spoiled {
      Spoiled("\(name): \(value ?? "none")", verdicts) { $0[name] = value }
    }
  }

  private static func bad(_ mozilla: String, _ apple: String) -> [String] {
    ["400", "400 errno\(mozilla)", "400 \(apple)", "400", "400"]
  }

  private static let notFound = ["404", "404 errno102", "404 BadPath", "404", "404"]
  private static let badEncoding = bad("110", "BadWebPushRequest")

  private static let spoiled: [Spoiled] =
    [
      Spoiled("GET", ["405", "405 errno999", "405 MethodNotAllowed", "405", "405"]) {
        $0.method = "GET"
      },
      Spoiled("a secret that is another", notFound) {
        let last = $0.path.removeLast()
        $0.path += last == "A" ? "B" : "A"
      },
      Spoiled("a longer path", notFound) { $0.path += "/" },
      Spoiled("a query", notFound) { $0.path += "&x=1" },
      Spoiled("no secret", notFound) { $0.path = "/wpush/v2/" },
      .field("ttl", nil, bad("111", "BadTtl")),
      .field("ttl", "-1", bad("114", "BadTtl")), .field("ttl", "", bad("114", "BadTtl")),
      .field("ttl", "1.5", bad("114", "BadTtl")),
      .field("ttl", "99999999999", bad("114", "BadTtl")),
      Spoiled("two TTLs", bad("114", "BadTtl")) { $0.fields.append(("ttl", "90")) },
      .field("urgency", "urgent", bad("111", "BadUrgency")),
      Spoiled("two urgencies", bad("111", "BadUrgency")) { $0.fields.append(("urgency", "high")) },
      .field("topic", "", bad("113", "BadWebPushTopic")),
      .field("topic", "a b", bad("113", "BadWebPushTopic")),
      .field("topic", String(repeating: "a", count: 33), bad("113", "BadWebPushTopic")),
      .field("content-encoding", nil, badEncoding),
      .field("content-encoding", "aesgcm", badEncoding),
      .field("content-encoding", "aes128gcm, gzip", badEncoding),
      Spoiled("an encoding of nothing", badEncoding) { $0.body = [] },
      .field("encryption", "salt=x", bad("101", "BadWebPushRequest")),
      .field("crypto-key", "dh=x", bad("101", "BadWebPushRequest")),
      Spoiled(
        "4097 bytes", ["400", "413 errno104", "413 PayloadTooLarge", "413", "413"]
      ) { $0.body += Array(repeating: 0, count: 4097 - $0.body.count) },
      Spoiled("a changed body", badEncoding) { $0.body[$0.body.count - 1] ^= 1 },
      Spoiled("half a header", badEncoding) { $0.body = Array($0.body[..<60]) },
      .field(
        "authorization", nil, ["401", "401 errno109", "403 BadJwtToken", "401", "401"]),
      .field(
        "authorization", "Bearer x",
        ["400 UnauthorizedRegistration", "401 errno109", "403 BadJwtToken", "401", "401"]),
    ]

  @Test func eachFaultIsRefusedInTheServicesWords() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      for (index, host) in Host.all.enumerated() {
        let subscription = try await bench.simulator.makeSubscription(host: host)
        let sound = try bench.sender.request(subscription)
        for spoiled in Self.spoiled {
          let reply = try await client.send(sound.changed(spoiled.change))
          #expect(reply.verdict == spoiled.verdicts[index], "\(host): \(spoiled.name)")
          let explanation = reply.headers["x-wns-error-description"]
          #expect((explanation != nil) == (host == Host.windows), "\(spoiled.name)")
        }
        #expect(await bench.simulator.counts(of: subscription.endpoint) == (0, 0))
        #expect(try await client.send(sound).status == 201)
      }
      let summary = await bench.simulator.summary()
      #expect(summary.accepted == 5 && summary.byReason["no_ttl"] == 5)
      #expect(summary.byReason["unreadable"] == 10 && summary.byReason["too_large"] == 5)
      #expect(summary.byService == Dictionary(uniqueKeysWithValues: Self.services.map { ($0, 1) }))
    }
  }

  private static let services = ServiceDialect.allCases.map(\.rawValue)

  @Test func theLimitsAreTaken() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let subscription = try await bench.simulator.makeSubscription(host: Host.google)
      let longest = String(repeating: "x", count: 3993)
      let request = try bench.sender.request(subscription, longest)
      #expect(request.body.count == 4096)
      #expect(try await client.send(request).status == 201)
      let topic = request.changed { $0["topic"] = String(repeating: "_", count: 32) }
      #expect(try await client.send(topic).status == 201)
      let month = try await client.send(request.changed { $0["ttl"] = "9999999999" })
      #expect(month.status == 201 && month.headers["ttl"] == "2592000")
      let bare = request.changed {
        $0["urgency"] = nil
        $0["ttl"] = "0"
      }
      #expect(try await client.send(bare).status == 201)
      let empty = request.changed {
        $0.body = []
        $0["content-encoding"] = nil
      }
      #expect(try await client.send(empty).status == 201)
      #expect(await bench.simulator.lastMessage(of: subscription.endpoint) == [])
    }
  }

  /// Apple decodes topics: 4n + 1 characters are the text of no bytes.
  @Test(arguments: [(Host.apple, 400), (Host.mozilla, 201)])
  func appleWantsATopicThatDecodes(host: String, status: Int) async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let subscription = try await bench.simulator.makeSubscription(host: host)
      let sound = try bench.sender.request(subscription)
      #expect(try await client.send(sound.changed { $0["topic"] = "abcde" }).status == status)
      #expect(try await client.send(sound.changed { $0["topic"] = "abcdef" }).status == 201)
    }
  }

  @Test func windowsComparesTheCachePolicyWithTheTTL() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let subscription = try await bench.simulator.makeSubscription(host: Host.windows)
      let sound = try bench.sender.request(subscription)
      for (ttl, policy, status) in [
        ("0", "no-cache", 201), ("0", "cache", 400), ("90", "no-cache", 400), ("90", nil, 400),
      ] as [(String, String?, Int)] {
        let request = sound.changed {
          $0["ttl"] = ttl
          $0["x-wns-cache-policy"] = policy
        }
        #expect(try await client.send(request).status == status, "\(ttl) \(policy ?? "none")")
      }
    }
  }

  /// An origin leaves the port of HTTPS out, and is in lower case; another port is part of it.
  @Test(arguments: [
    ("push.test:443", 201), ("PUSH.test", 201), ("push.test:8443", 403), ("push.test:4433", 403),
  ])
  func theOriginIsThatOfTheAuthority(authority: String, status: Int) async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let subscription = try await bench.simulator.makeSubscription(host: Host.other)
      let request = try bench.sender.request(subscription)
      #expect(try await client.send(request.changed { $0.authority = authority }).status == status)
    }
  }

  @Test func anotherHostHasOtherSubscriptions() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let made = try await bench.simulator.makeSubscription(host: Host.other)
      let numbered = try await bench.simulator.numberedSubscription(1, host: Host.other)
      for subscription in [made, numbered] {
        let request = try bench.sender.request(subscription)
        let elsewhere = request.changed { $0.authority = "a.push.test" }
        #expect(try await client.send(elsewhere).status == 404)
        #expect(try await client.send(request).status == 201)
      }
    }
  }
}
