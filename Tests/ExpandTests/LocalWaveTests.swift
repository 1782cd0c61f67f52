import Fixtures
import Keyspace
import Model
import Redis
import Rules
import Testing

@testable import Expand

/// The waves of an event for a local hour read the same followers, and each sends to its own.
@Suite struct LocalWaveTests {
  private static let zones = TimeZones(
    ["Asia/Tokyo": .fixed(secondsEast: 9 * 3600), "Asia/Kolkata": .fixed(secondsEast: 19_800)])

  private static let people = ["tokyo", "delhi", "none", "odd", "without", "mute"]

  private static func segment(_ wave: Int, stragglers: Bool = false) -> Segment {
    let event = Event(
      id: "e1", app: app, streamer: "s1", stream: "b1", template: "go-live", occurredAt: 0,
      expiresAt: 100, sendAt: .local(0), fields: [:], document: [])
    let segment = Segment(
      event: event.inWave(wave), slice: .shard(index: 0, generation: 1), count: 1, wave: wave)
    guard stragglers else { return segment }
    return segment.straggling(
      [Straggler(user: "delhi", member: member(token("delhi")), history: PushHistory())], number: 1)
  }

  private func run(
    _ more: [[String]] = [],
    _ body: @escaping @Sendable (RedisClient, ExpandOptions) async throws -> Void
  ) async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.people)
      try await redis.commands(
        [("tokyo", "Asia/Tokyo"), ("delhi", "asia/kolkata"), ("odd", "UTC+03:15")].map {
          ["HSET", keyspace.profile(user: $0.0), "tz", $0.1]
        } + [
          ["DEL", keyspace.bindings(user: "without")],
          ["HSET", keyspace.profile(user: "without"), "tz", "Asia/Tokyo"],
          ["HSET", keyspace.profile(user: "mute"), "muted", "1"],
        ] + more)
      let rules = RecipientRules(localZones: Self.zones)
      try await body(redis, ExpandOptions(rules: rules))
    }
  }

  @Test func eachIsReadInOneWave() async throws {
    try await run { redis, options in
      var waves: [String: [Int]] = [:]
      var (followers, suppressed) = (0, 0)
      for wave in 0..<LocalWaves.count {
        let reading = try await redis.read(Self.segment(wave), options: options).reading
        for user in reading.users { waves[user, default: []].append(wave) }
        followers += reading.followers
        suppressed += reading.suppressed.total
      }
      #expect(
        waves == [
          "tokyo": [LocalWaves.wave(ofOffset: 9 * 3600)],
          "delhi": [LocalWaves.wave(ofOffset: 19_800)], "none": [LocalWaves.wave(ofOffset: 0)],
          "odd": [LocalWaves.wave(ofOffset: 3 * 3600)],
        ])
      #expect(followers == Self.people.count && suppressed == 1, "each is counted once")
    }
  }

  /// Who cannot be read is counted once, by the wave of those without a zone.
  @Test func whoCannotBeReadIsCountedOnce() async throws {
    let broken = [
      ["DEL", keyspace.profile(user: "tokyo")], ["SET", keyspace.profile(user: "tokyo"), "x"],
      ["SADD", keyspace.followerShard(streamer: "s1", generation: 1, shard: 0), "{bad}"],
    ]
    try await run(broken) { redis, options in
      var (skipped, followers): ([Int], Int) = ([], 0)
      for wave in 0..<LocalWaves.count {
        let reading = try await redis.read(Self.segment(wave), options: options).reading
        if reading.skipped > 0 { skipped.append(wave) }
        followers += reading.followers
        #expect(reading.skipped == 0 || reading.skipped == 2)
      }
      #expect(skipped == [LocalWaves.wave(ofOffset: 0)])
      #expect(followers == Self.people.count)
    }
  }

  /// What waits for another try was told apart before, and the zone may be another one now.
  @Test func stragglersAreNotToldApartAgain() async throws {
    try await run([["HSET", keyspace.profile(user: "delhi"), "tz", "UTC"]]) { redis, options in
      let segment = Self.segment(LocalWaves.wave(ofOffset: 19_800), stragglers: true)
      let reading = try await redis.read(segment, options: options).reading
      #expect(reading.users == ["delhi"])
    }
  }
}
