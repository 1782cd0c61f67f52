import APNsSimulator
import TLS
import Telemetry
import Testing
import Threads

@Suite struct ProviderTokenTests {
  private func reason(_ reply: Reply) -> String { "\(reply.status) \(reply.text)" }

  @Test func badTokensGetTheirReasons() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let stranger = try ES256Key.generate()
      let good = try bench.authorization()
      let cases: [(String?, String)] = [
        (nil, "MissingProviderToken"),
        ("Basic abc", "MissingProviderToken"),
        ("bearer", "MissingProviderToken"),
        ("bearer abc", "InvalidProviderToken"),
        ("bearer a.b.c", "InvalidProviderToken"),
        (good + "x", "InvalidProviderToken"),
        (String(good.dropLast(4)), "InvalidProviderToken"),
        (try bench.authorization(keyID: "OTHERKEY99"), "InvalidProviderToken"),
        (try bench.authorization(teamID: "OTHERTEAM9"), "InvalidProviderToken"),
        (try bench.authorization(algorithm: "none"), "InvalidProviderToken"),
        (try bench.authorization(key: stranger), "InvalidProviderToken"),
        (try bench.authorization(age: -7200), "InvalidProviderToken"),
        (try bench.authorization(issuedAt: .min), "InvalidProviderToken"),
        (try bench.authorization(issuedAt: .max), "InvalidProviderToken"),
        (try bench.authorization(issuedAt: -1), "InvalidProviderToken"),
        (try bench.authorization(issuedAt: 0), "ExpiredProviderToken"),
        (try bench.authorization(age: 3601), "ExpiredProviderToken"),
      ]
      for (authorization, expected) in cases {
        let reply = try await client.send(Request(), authorization: authorization)
        #expect(self.reason(reply) == "403 {\"reason\":\"\(expected)\"}")
      }
      #expect(client.streamLimit == 1)
      let reply = try await client.send(Request(), authorization: good)
      #expect(reply.status == 200)
    }
  }

  @Test func aSecondNewTokenWithin20MinutesIsTooMany() async throws {
    let shift = ClockShift()
    try await withSimulator(
      changed { options in
        options.clock = { WallClock.nowMicroseconds() + shift.seconds * 1_000_000 }
      }
    ) { _, bench in
      let client = try await bench.connect()
      let first = try bench.authorization(age: 10)
      let second = try bench.authorization(age: 5)
      #expect(try await client.send(Request(), authorization: first).status == 200)
      let refused = try await client.send(Request(), authorization: second)
      #expect(self.reason(refused) == "429 {\"reason\":\"TooManyProviderTokenUpdates\"}")
      #expect(try await client.send(Request(), authorization: first).status == 200)
      // On a connection of its own the second token is the first.
      let other = try await bench.connect()
      #expect(try await other.send(Request(), authorization: second).status == 200)
      shift.set(20 * 60)
      #expect(try await client.send(Request(), authorization: second).status == 200)
      #expect(try await client.send(Request(), authorization: first).status == 200)
      shift.set(3595)
      let expired = try await client.send(Request(), authorization: first)
      #expect(self.reason(expired) == "403 {\"reason\":\"ExpiredProviderToken\"}")
    }
  }

  /// "The key ID in the provider token isn't related to the key ID of the token used in the first
  /// push of this connection."
  @Test func aConnectionIsBoundToATeamAndAKeyToItsTopics() async throws {
    let keys = try [ES256Key.generate(), ES256Key.generate()]
    let teams = ["TEAMTEAM01", "TEAMTEAM02"]
    let topics = [["com.example.live"], ["com.example.other"]]
    let known = zip(zip(keys, teams), topics).map {
      APNsSimulatorOptions.ProviderKey(
        keyID: "KEYKEYKEY1", teamID: $0.1, publicKeyPEM: $0.0.publicKeyPEM, topics: $1)
    }
    try await withSimulator(changed { $0.providerKeys = known }) { _, bench in
      let tokens = try zip(keys, teams).map {
        try bench.authorization(keyID: "KEYKEYKEY1", teamID: $1, key: $0)
      }
      let client = try await bench.connect()
      #expect(try await client.send(Request(), authorization: tokens[0]).status == 200)
      let unrelated = try await client.send(Request(), authorization: tokens[1])
      #expect(self.reason(unrelated) == "403 {\"reason\":\"UnrelatedKeyIdInToken\"}")
      let other = try await bench.connect()
      let disallowed = try await other.send(Request(), authorization: tokens[1])
      #expect(self.reason(disallowed) == "400 {\"reason\":\"TopicDisallowed\"}")
    }
  }

  @Test func theStreamLimitRisesAfterTheFirstValidToken() async throws {
    try await withSimulator(changed { $0.streams = 321 }) { _, bench in
      let client = try await bench.connect()
      #expect(client.streamLimit == 1)
      _ = try await client.send(Request(), authorization: "bearer a.b.c")
      #expect(client.streamLimit == 1)
      _ = try await client.send(Request(), authorization: try bench.authorization())
      #expect(client.streamLimit == 321)
    }
  }

  @Test func withoutProviderTokensAnyRequestRaisesTheLimit() async throws {
    try await withSimulator(changed { $0.requiresProviderToken = false }) { _, bench in
      let client = try await bench.connect()
      #expect(try await client.send(Request(), authorization: nil).status == 200)
      #expect(client.streamLimit == 1000)
    }
  }

  @Test func theKeyItMakesIsWrittenAndTrusted() async throws {
    try await withSimulator(changed { $0.providerKeys = [] }) { _, bench in
      let path = try #require(bench.address.providerKeyFile)
      let key = try ES256Key(pem: readFile(path))
      let client = try await bench.connect()
      let authorization = try bench.authorization(
        keyID: bench.address.keyID, teamID: bench.address.teamID, key: key)
      #expect(try await client.send(Request(), authorization: authorization).status == 200)
    }
  }
}

/// Seconds that the simulator's clock is ahead.
final class ClockShift: Sendable {
  private let value = ThreadLock<Int64>(0)
  var seconds: Int64 { value.withLock { $0 } }
  func set(_ seconds: Int64) { value.withLock { $0 = seconds } }
}
