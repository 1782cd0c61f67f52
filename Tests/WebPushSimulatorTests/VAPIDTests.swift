import Fixtures
import JSON
import TLS
import Testing
import Text

@testable import WebPushSimulator

/// Tokens of senders, those in order and those not.
@Suite struct VAPIDTests {
  private static let badToken = ["403", "401 errno109", "403 BadJwtToken", "403", "403"]
  private static let badAuthorization = [
    "400 UnauthorizedRegistration", "401 errno109", "403 BadJwtToken", "401", "401",
  ]

  private func spoiled(
    _ sender: Sender, _ origin: String
  ) throws -> [(name: String, value: String, verdicts: [String])] {
    let now: Int64 = 1_700_000_000
    func token(_ change: (inout JSONObject) -> Void) throws -> String {
      try sender.authorization(origin, now: now, change)
    }
    let sound = try sender.authorization(origin, now: now)
    let key = Base64URL.encode(try sender.key.publicPoint())
    return [
      ("another origin", try token { $0["aud"] = "https://push.example" }, Self.badToken),
      ("a path", try token { $0["aud"] = .string(origin + "/") }, Self.badToken),
      ("no origin", try token { $0["aud"] = nil }, Self.badToken),
      ("over", try token { $0["exp"] = .integer(now) }, Self.badToken),
      ("too far", try token { $0["exp"] = .integer(now + 86_401) }, Self.badToken),
      ("a text", try token { $0["exp"] = .string("\(now + 60)") }, Self.badToken),
      ("no end", try token { $0["exp"] = nil }, Self.badToken),
      ("no text", try token { $0["sub"] = .null }, Self.badToken),
      (
        "no algorithm", try sender.authorization(origin, now: now, header: #"{"alg":"none"}"#),
        Self.badToken
      ),
      (
        "another signer", try sender.authorization(origin, now: now, signer: .generate()),
        Self.badToken
      ),
      ("a part", "vapid t=a.b, k=\(key)", Self.badToken),
      (
        "no key", "vapid " + sound.split(separator: " ")[1].dropLast(), Self.badAuthorization
      ),
      ("no token", "vapid k=\(key)", Self.badAuthorization),
      ("twice", sound + ", k=\(key)", Self.badAuthorization),
      (
        "the old scheme", "WebPush " + sound.dropFirst("vapid t=".utf8.count), Self.badAuthorization
      ),
      (
        "a key that is none", String(sound.dropLast(8)),
        ["403", "401 errno109", "403 BadVapidPublicKey", "403", "403"]
      ),
    ]
  }

  @Test func eachFaultIsRefusedInTheServicesWords() async throws {
    try await withSimulator(changed { $0.clock = { 1_700_000_000_000_000 } }) { _, bench in
      let client = try await bench.connect()
      for (index, host) in Host.all.enumerated() {
        let subscription = try await bench.simulator.makeSubscription(host: host)
        let sound = try bench.sender.request(subscription, now: 1_700_000_000)
        for spoiled in try spoiled(bench.sender, "https://\(host)") {
          let reply = try await client.send(sound.changed { $0["authorization"] = spoiled.value })
          #expect(reply.verdict == spoiled.verdicts[index], "\(host): \(spoiled.name)")
        }
        #expect(try await client.send(sound).status == 201)
      }
    }
  }

  @Test func aTokenMayLastADayAndNameItsPartsInAnyOrder() async throws {
    try await withSimulator(changed { $0.clock = { 1_700_000_000_000_000 } }) { _, bench in
      let client = try await bench.connect()
      let subscription = try await bench.simulator.makeSubscription(host: Host.mozilla)
      let origin = "https://\(Host.mozilla)"
      let now: Int64 = 1_700_000_000
      var request = try bench.sender.request(subscription, now: now)
      for exp in [now + 1, now + 86_400] {
        request["authorization"] = try bench.sender.authorization(origin) {
          $0["exp"] = .integer(exp)
          $0["sub"] = nil
          $0["aud"] = ["https://a.example", .string(origin)]
        }
        #expect(try await client.send(request).status == 201)
      }
      let parts = try #require(request["authorization"]).dropFirst("vapid ".utf8.count)
        .split(separator: ", ")
      request["authorization"] = "VAPID \(parts[1]),\(parts[0])"
      #expect(try await client.send(request).status == 201)
    }
  }

  @Test(
    arguments: [
      ("mailto:push@example.com", 201), ("https://example.com/contact", 201),
      ("mailto:push@localhost", 403), ("mailto:push@a.localhost", 403),
      ("mailto: push@example.com", 403), ("mailto:<push@example.com>", 403),
      ("mailto:mailto:a@b@example.com", 403), ("https://localhost", 403),
      ("http://example.com", 403), ("mailto:@example.com", 403), ("mailto:push@example..com", 403),
      ("", 403), (nil, 403),
    ] as [(String?, Int)])
  func appleWantsASubjectWhoCanBeReached(subject: String?, status: Int) async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      for (host, expected) in [(Host.apple, status), (Host.google, 201)] {
        let subscription = try await bench.simulator.makeSubscription(host: host)
        var request = try bench.sender.request(subscription)
        request["authorization"] = try bench.sender.authorization("https://\(host)") {
          $0["sub"] = subject.map { .string($0) }
        }
        #expect(try await client.send(request).status == expected)
      }
    }
  }

  @Test func aSubscriptionTakesItsOwnKeyAlone() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let key = try ES256Key.generate().publicPoint()
      let verdicts = ["403", "401 errno109", "403 VapidPkHashMismatch", "403", "403"]
      for (host, verdict) in zip(Host.all, verdicts) {
        let subscription = try await bench.simulator.makeSubscription(
          host: host, applicationServerKey: key)
        let reply = try await client.send(bench.sender.request(subscription))
        #expect(reply.verdict == verdict)
        if host == Host.google { #expect(reply.text.contains("do not correspond")) }
      }
      #expect(await bench.simulator.summary().byReason == ["other_key": 5])
    }
  }

  @Test func aTokenIsVerifiedOnceAndStillEnds() async throws {
    let clock = ManualClock()
    try await withSimulator(
      changed { $0.clock = { clock.milliseconds.load(ordering: .relaxed) * 1000 } }
    ) { _, bench in
      let client = try await bench.connect()
      let subscription = try await bench.simulator.makeSubscription(host: Host.other)
      let request = try bench.sender.request(subscription, now: 1_700_000_000)
      for _ in 0..<5 { #expect(try await client.send(request).status == 201) }
      #expect(await bench.simulator.summary().tokenVerifications == 1)
      clock.advance(12 * 3_600_000)
      #expect(try await client.send(request).status == 403)
    }
  }

  /// RFC 8292, section 2.4, with the claims of its token.
  @Test func theRFCsTokenIsTaken() throws {
    let authorization =
      "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiL"
      + "CJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC"
      + "9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, "
      + "k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
    func judge(_ origin: String, at seconds: Int64) throws -> [UInt8] {
      try VAPIDTokens().judge(
        Array(authorization.utf8), origin: origin, .apple, nowSeconds: seconds)
    }
    let key = try judge("https://push.example.net", at: 1_453_523_767)
    #expect(authorization.hasSuffix(Base64URL.encode(key)))
    #expect(throws: WebPushRefusal.self) {
      try judge("https://push.example.net", at: 1_453_523_768)
    }
    #expect(throws: WebPushRefusal.self) { try judge("https://push.example", at: 1_453_523_767) }
  }
}
