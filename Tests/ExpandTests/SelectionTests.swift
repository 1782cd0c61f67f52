import Fixtures
import Keyspace
import Model
import Redis
import Testing
import Text

@testable import Expand

/// Users whom an expression selects, part by part.
@Suite struct SelectionTests {
  private typealias E = AudienceExpression

  private static func event(_ audience: EventAudience) -> Event {
    Event(
      id: "e1", app: app, streamer: "s1", stream: "b1", template: "go-live", occurredAt: 0,
      expiresAt: 1, audience: audience, fields: [:], document: [])
  }

  /// Puts users into a list of so many shards, in place of whoever was there.
  @Sendable private static func put(
    _ users: [String], in list: E.List, shards: Int, generation: Int = 1, _ redis: RedisClient
  ) async throws {
    let (name, keyspace) =
      switch list {
      case .followers: ("s1", keyspace)
      case .tag(let tag): (tag, keyspace.ofTags)
      }
    var commands = [
      [
        "HSET", keyspace.followers(of: name), "shards", "\(shards)", "generation", "\(generation)",
        "followers", "\(users.count)",
      ]
    ]
    for user in users {
      let shard = Keyspace.shard(of: user, shards: shards)
      commands.append([
        "SADD", keyspace.followerShard(streamer: name, generation: generation, shard: shard), user,
      ])
    }
    try await redis.commands(commands)
  }

  /// All parts of what an event selects; `between` runs before each further page.
  @Sendable private static func selected(
    _ expression: E, _ redis: RedisClient, options: ExpandOptions = ExpandOptions(),
    between: (Reading) async throws -> Void = { _ in }
  ) async throws -> [String] {
    let event = event(.matching(expression))
    let audience = try await ExpandStage(redis: redis, keyspace: keyspace, options: options)
      .audience(of: event)
    var users: [String] = []
    for segment in audience.segments(of: event) {
      users += try await redis.read(segment, options: options, between: between).reading.users
    }
    return users.sorted()
  }

  @Test func anEventNamesItsUsers() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.equip(["ann", "bob", "cem"])
      let event = Self.event(.users(["cem", "dan", "ann"]))
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      #expect(try await stage.audience(of: event) == .named)
      let segment = try #require(Audience.named.segments(of: event).first)
      #expect(segment.isOfSmall)
      let reading = try await redis.read(segment).reading
      #expect(reading.users == ["cem", "ann"] && reading.followers == 3)
    }
  }

  @Test func aTagIsReadAsFollowersAre() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.equip(["ann", "bob"])
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      let event = Self.event(.matching(.tag("beta")))
      #expect(try await stage.audience(of: event) == Audience.none)
      try await Self.put(["ann", "bob"], in: .tag("beta"), shards: 4, redis)
      #expect(try await stage.audience(of: event) == .selected(parts: 4))
      #expect(try await Self.selected(.tag("beta"), redis) == ["ann", "bob"])
      // The followers of a streamer of that name are others.
      #expect(try await stage.audience(of: "beta") == Audience.none)
    }
  }

  /// Whatever the lists, however they are divided: who is selected comes once.
  @Test func everybodyOfAnExpressionComesOnce() async throws {
    try await RedisFixture().run { redis async throws in
      let users = (0..<300).map { "u\($0)" }
      try await redis.equip(users)
      var random = SplitMix64(seed: 7)
      let lists: [E.List] = [.followers, .tag("a"), .tag("b"), .tag("c"), .tag("nobody")]
      for round in 1...12 {
        var members: [E.List: Set<String>] = [:]
        for list in lists.dropLast() {
          let some = users.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
          members[list] = Set(some)
          let shards = 1 << Int.random(in: 0...4, using: &random)
          try await Self.put(some, in: list, shards: shards, generation: round, redis)
        }
        func made(_ depth: Int) -> E {
          switch Int.random(in: depth == 0 ? 3...4 : 0...4, using: &random) {
          case 0: .and((0...1).map { _ in made(depth - 1) })
          case 1: .or((0...1).map { _ in made(depth - 1) })
          case 2: .not(made(depth - 1))
          default:
            switch lists.randomElement(using: &random) {
            case .tag(let tag)?: .tag(tag)
            default: .followers
            }
          }
        }
        var expression = made(3)
        while !expression.isEnumerable { expression = made(3) }
        let wanted = users.filter { user in
          expression.holds { members[$0]?.contains(user) == true }
        }
        #expect(try await Self.selected(expression, redis) == wanted.sorted(), "\(expression.text)")
      }
    }
  }

  /// Whole pages of users are asked about at once, however many a list's shards hold.
  @Test(arguments: [380, 513, 4_096], [1, 4])
  func largeListsAreAskedAboutToo(users count: Int, shards: Int) async throws {
    try await RedisFixture().run { redis async throws in
      let users = (0..<count).map { "u\($0)" }
      try await redis.equip(users)
      try await Self.put(users, in: .followers, shards: shards, redis)
      try await Self.put(["u1", "u7"], in: .tag("staff"), shards: 1, redis)
      try await Self.put(Array(users.suffix(count / 2)), in: .tag("beta"), shards: shards, redis)
      let others = E.and([.followers, .not(.tag("staff"))])
      let wanted = users.filter { $0 != "u1" && $0 != "u7" }.sorted()
      #expect(try await Self.selected(others, redis) == wanted)
      let all = E.or([.followers, .tag("beta")])
      #expect(try await Self.selected(all, redis) == users.sorted())
    }
  }

  /// The lists are divided again between two pages, and what was there before is gone.
  @Test func aListThatIsDividedMeanwhileLosesNobody() async throws {
    try await RedisFixture().run { redis async throws in
      let users = (0..<64).map { "u\($0)" }
      try await redis.equip(users)
      let expression = E.and([.tag("small"), .followers, .not(.tag("out"))])
      let out = Array(users.prefix(16))
      for (list, members) in [
        (E.List.tag("small"), users), (.followers, users + ["v1", "v2"]), (.tag("out"), out),
      ] {
        try await Self.put(members, in: list, shards: 2, redis)
      }
      var options = ExpandOptions()
      options.pageSize = 8
      options.maximumShardMembers = 4
      nonisolated(unsafe) var generation = 1
      let read = try await Self.selected(expression, redis, options: options) { _ in
        let old = generation
        generation += 1
        for (list, members) in [
          (E.List.tag("small"), users), (.followers, users + ["v1", "v2"]), (.tag("out"), out),
        ] {
          let shards = generation % 2 == 0 ? 8 : 2
          try await Self.put(members, in: list, shards: shards, generation: generation, redis)
          let (name, keys) =
            list == .followers
            ? ("s1", keyspace)
            : (
              list == .tag("out") ? "out" : "small", keyspace.ofTags
            )
          for shard in 0..<8 {
            try await redis.commands([
              ["DEL", keys.followerShard(streamer: name, generation: old, shard: shard)]
            ])
          }
        }
      }
      #expect(generation > 4)
      #expect(read == users.dropFirst(16).sorted())
    }
  }

  /// Followers that another system keeps in one set are one list among others, in one part.
  @Test func aPlainSetIsAListToo() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.equip(["ann", "bob", "cem"])
      try await redis.commands([["SADD", "followers:s1", "ann", "bob"]])
      try await Self.put(["bob", "cem"], in: .tag("beta"), shards: 8, redis)
      var options = ExpandOptions()
      options.plainSetKey = "followers:{streamer}"
      for (expression, parts, users) in [
        (E.and([.followers, .tag("beta")]), 8, ["bob"]),
        (.or([.followers, .tag("beta")]), 1, ["ann", "bob", "cem"]),
        (.and([.followers, .not(.tag("beta"))]), 1, ["ann"]),
      ] {
        let stage = ExpandStage(redis: redis, keyspace: keyspace, options: options)
        let event = Self.event(.matching(expression))
        #expect(try await stage.audience(of: event) == .selected(parts: parts))
        #expect(try await Self.selected(expression, redis, options: options) == users)
      }
    }
  }

  @Test func aListOfAnotherTypeIsNamed() async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.put(["ann"], in: .tag("a"), shards: 1, redis)
      try await Self.put([], in: .tag("b"), shards: 1, redis)
      let key = keyspace.ofTags.followerShard(streamer: "b", generation: 1, shard: 0)
      try await redis.commands([["SET", key, "x"]])
      let error = await failure {
        _ = try await Self.selected(.and([.tag("a"), .not(.tag("b"))]), redis)
      }
      #expect(error?.code == .redis(.wrongType) && error?.description.contains(key) == true)
    }
  }
}
