import Fixtures
import Keyspace
import Redis
import Synchronization
import Testing

@testable import Devices

/// Follows and unfollows by others than us, while a large set is divided.
@Suite struct FollowDuringDivisionTests {
  private static let clients = 4

  /// A large audience, of which most changes fall into the copy, and a small one that is divided
  /// again and again, of which many fall between two steps.
  struct Course: CustomTestStringConvertible {
    let isPlain: Bool
    let followers: Int
    let divisions: Int
    var testDescription: String { "\(followers) in \(isPlain ? "a plain set" : "shards")" }

    static let all = [
      Course(isPlain: true, followers: 20_000, divisions: 2),
      Course(isPlain: false, followers: 20_000, divisions: 2),
      Course(isPlain: false, followers: 400, divisions: 400),
    ]
  }

  private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
  }

  private final class Count: Sendable {
    private let value = Atomic(0)
    var count: Int { value.load(ordering: .acquiring) }
    func add(_ more: Int) { value.wrappingAdd(more, ordering: .acquiringAndReleasing) }
  }

  /// Changes users of its own, every `clients`-th, until told to end, and a while longer. Returns
  /// who follows at the end, of those that it has changed, and how often it changed somebody.
  private func work(
    _ client: FollowingClient, _ number: Int, _ course: Course, _ fixture: RedisBed,
    until ended: Flag
  ) async throws -> (state: [String: Bool], changes: Int) {
    try await fixture.run { redis async throws in
      var state: [String: Bool] = [:]
      var changes = 0
      var random = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1
      var left = 200
      while left > 0 {
        if ended.isSet { left -= 1 }
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        // Half of them followed before.
        let place = Int(random >> 33) % (2 * course.followers / Self.clients)
        let user = "user-\(place * Self.clients + number)"
        let follows = random >> 20 & 1 == 0
        try await client.change(redis, user, follows: follows)
        state[user] = follows
        changes += 1
      }
      return (state, changes)
    }
  }

  @Test(arguments: Course.all)
  func theScriptLosesNothingAndBringsNothingBack(_ course: Course) async throws {
    try await expectNothingLostAndNothingBack(.script, course)
  }

  @Test(arguments: Course.all)
  func plainCommandsLoseNothingAndBringNothingBack(_ course: Course) async throws {
    try await expectNothingLostAndNothingBack(.commands, course)
  }

  @Test(
    arguments: RedisBed.Kind.allCases,
    [
      Course(isPlain: false, followers: 20_000, divisions: 2),
      Course(isPlain: false, followers: 400, divisions: 80),
    ])
  func theRegistryLosesNothingAndBringsNothingBack(
    _ kind: RedisBed.Kind, _ course: Course
  ) async throws {
    try await expectNothingLostAndNothingBack(.registry, course, kind)
  }

  private func expectNothingLostAndNothingBack(
    _ way: FollowingClient.Way, _ course: Course, _ kind: RedisBed.Kind = .one
  ) async throws {
    let fixture = try RedisBed(kind)
    let plainSet = course.isPlain ? "followers:s1" : nil
    let client = FollowingClient(
      way: way, streamer: "s1", plainSet: plainSet, script: try shippedScript("follow.lua"))
    let initial = (0..<course.followers).map { "user-\($0)" }
    try await fixture.run { redis async throws in
      let key = plainSet ?? "ffd:{f:s1:1:0}"
      for start in stride(from: 0, to: initial.count, by: 10_000) {
        _ = try await redis.execute(
          RedisPipeline(["SADD", key] + initial[start...].prefix(10_000)))
      }
      if !course.isPlain {
        _ = try await redis.ask(
          "HSET", keyspace.followers(of: "s1"), "shards", "1", "generation", "1", "followers",
          String(course.followers))
      }
    }
    let ended = Flag()
    async let division = fixture.run { redis async throws in
      defer { ended.set() }
      let sharding = AudienceSharding(
        redis: redis, keyspace: keyspace, options: AudienceWriterOptions(scanCount: 100))
      var summary = try await sharding.run(
        streamer: "s1", from: plainSet.map { .plain(key: $0) } ?? .current)
      // Once more, from shards to shards.
      for _ in 1..<course.divisions {
        summary = try await sharding.run(streamer: "s1", from: .current)
      }
      return summary
    }
    var wanted = Set(initial)
    let results = try await withThrowingTaskGroup { group in
      for number in 0..<Self.clients {
        group.addTask { try await work(client, number, course, fixture, until: ended) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    for result in results {
      // Else the divisions were over before anything had happened: 200 are made after them.
      #expect(result.changes > 200)
      for (user, follows) in result.state {
        if follows { wanted.insert(user) } else { wanted.remove(user) }
      }
    }
    let summary = try await division
    let expected = wanted
    #expect(summary.generation >= course.divisions)
    try await fixture.run { redis async throws in
      let found = Set(try await redis.followers("s1"))
      #expect(expected.subtracting(found).count == 0, "follows lost")
      #expect(found.subtracting(expected).count == 0, "unfollows that came back")
      guard way != .commands else { return }
      let heading = try await redis.table(keyspace.followers(of: "s1"))
      // Who came between the count and the last step of a division is not in the number.
      let followers = Int(heading["followers"] ?? "") ?? 0
      #expect(abs(followers - expected.count) < 40)
    }
  }

  @Test(arguments: RedisBed.Kind.allCases)
  func anImportLosesNobodyEither(_ kind: RedisBed.Kind) async throws {
    let fixture = try RedisBed(kind)
    try await fixture.run { redis async throws in
      let follows = AudienceFollows(redis: redis, keyspace: keyspace)
      for index in 0..<10_000 { try await follows.append(streamer: "s1", user: "user-\(index)") }
      _ = try await follows.finish()
    }
    let ended = Flag()
    let imported = Count()
    async let divisions: Void = fixture.run { redis async throws in
      defer { ended.set() }
      let sharding = AudienceSharding(redis: redis, keyspace: keyspace)
      var divisions = 0
      // As many as it takes, unless nothing comes any more.
      while divisions < 3 || imported.count < 4_000 && divisions < 300 {
        _ = try await sharding.run(streamer: "s1", from: .current)
        divisions += 1
      }
    }
    let count = try await fixture.run { redis async throws in
      let follows = AudienceFollows(redis: redis, keyspace: keyspace)
      var count = 10_000
      while !ended.isSet {
        for _ in 0..<500 {
          try await follows.append(streamer: "s1", user: "user-\(count)")
          count += 1
        }
        imported.add(500)
      }
      _ = try await follows.finish()
      #expect(follows.added == count - 10_000)
      return count
    }
    try await divisions
    #expect(count >= 14_000)
    try await fixture.run { redis async throws in
      #expect(try await redis.followers("s1") == (0..<count).map { "user-\($0)" }.sorted())
      _ = try await AudienceSharding(redis: redis, keyspace: keyspace)
        .run(streamer: "s1", from: .current)
      let heading = try await redis.table(keyspace.followers(of: "s1"))
      #expect(heading["followers"] == String(count))
    }
  }
}
