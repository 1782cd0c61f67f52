import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Expand

/// What is asked before it is known whether the segment is ours.
@Suite struct ReadAheadTests {
  private static let users = (0..<1_000).map { "user-\($0)" }

  private func calls(_ command: String, of redis: RedisClient) async throws -> Int {
    let replies = try await redis.execute(RedisPipeline(["INFO", "commandstats"]))
    let lines = (replies[0].text ?? "").split(separator: "\r\n")
    let line = lines.first { $0.hasPrefix("cmdstat_\(command):calls=") }
    return line.flatMap { Int($0.split(separator: "=")[1].prefix { $0.isNumber }) } ?? 0
  }

  private func connections(of redis: RedisClient) async throws -> Int {
    let told = try await redis.ask("INFO", "stats") ?? ""
    let line = told.split(whereSeparator: \.isNewline).first {
      $0.hasPrefix("total_connections_received:")
    }
    return try #require(line.flatMap { Int($0.split(separator: ":")[1]) })
  }

  private func read(
    _ segment: Segment, _ audience: Audience? = nil, from redis: RedisClient,
    options: ExpandOptions = ExpandOptions()
  ) async throws -> [String] {
    let stage = ExpandStage(redis: redis, keyspace: keyspace, options: options)
    let followers = stage.users(of: segment, audience: audience)
    await followers.readAhead()
    let reader = stage.reader(of: followers, fields: [], topic: app)
    var reading = Reading()
    while let page = try await reader.next() { reading.add(page) }
    return reading.users.sorted()
  }

  /// Its size is known from the heading, so that nobody asks for it.
  @Test func theOnlyShardIsReadAtOnce() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users)
      let audience = Audience.sharded(shards: 1, generation: 1, followers: 1_000)
      let users = try await read(shard(0, of: 1), audience, from: redis)
      #expect(users == Self.users.sorted())
      #expect(try await calls("scard", of: redis) == 0)
      #expect(try await calls("sscan", of: redis) == 1)
      #expect(try await calls("smembers", of: redis) == Self.users.count)
    }
  }

  /// Nobody counts on what the heading says: a shard may hold more, or hold them no longer.
  @Test(arguments: [1, 5, 0, 100_000])
  func aHeadingThatIsWrongLosesNobody(followers: Int) async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users)
      let audience = Audience.sharded(shards: 1, generation: 1, followers: followers)
      let options = ExpandOptions(
        pageSize: 50, maximumShardMembers: 500, maximumPageBytes: 8_192)
      let users = try await read(shard(0, of: 1), audience, from: redis, options: options)
      #expect(users == Self.users.sorted())
    }
  }

  /// A reply larger than what was bargained for would cost the lane its connection, and whatever
  /// is under way on it, at each event of that streamer.
  @Test(arguments: [1, 50, 999])
  func aHeadingThatIsTooLowCostsNoConnection(followers: Int) async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users)
      let others = (0..<4_000).map { "other-\($0)" }
      try await redis.commands([["SADD", "ffd:{f:s1:1:0}"] + others])
      let audience = Audience.sharded(shards: 1, generation: 1, followers: followers)
      let options = ExpandOptions(
        pageSize: 50, maximumShardMembers: 1_000, maximumPageBytes: 32_768)
      let before = try await connections(of: redis)
      let users = try await read(shard(0, of: 1), audience, from: redis, options: options)
      #expect(users == Self.users.sorted())
      #expect(try await connections(of: redis) == before)
    }
  }

  /// Who may not scan reads its size, and then the whole.
  @Test func aForbiddenScanIsDoneWithout() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users)
      try await redis.commands([["ACL", "SETUSER", "default", "-sscan"]])
      let audience = Audience.sharded(shards: 1, generation: 1, followers: 1_000)
      let users = try await read(shard(0, of: 1), audience, from: redis)
      #expect(users == Self.users.sorted())
    }
  }

  /// Only how large it is: others may have it, and be asked for it again and again.
  @Test func ofOneShardAmongManyOnlyTheSizeIsAsked() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users, shards: 2)
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      await stage.users(of: shard(0, of: 2)).readAhead()
      #expect(try await calls("scard", of: redis) == 1)
      #expect(try await calls("smembers", of: redis) == 0)
      var all: [String] = []
      for index in 0..<2 { all += try await read(shard(index, of: 2), from: redis) }
      #expect(all.sorted() == Self.users.sorted())
      #expect(try await calls("scard", of: redis) == 3)
    }
  }

  @Test func aPlainSetBeginsWithItsFirstPiece() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.commands([["SADD", "followers:s1"] + Self.users])
      try await redis.equip(Self.users)
      let users = try await read(plain("followers:s1"), from: redis)
      #expect(users == Self.users.sorted())
    }
  }

  /// A segment may linger for long after its last page, and hundreds of others with it.
  @Test func whoWasReadIsForgottenWithTheLastPage() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.commands([["SADD", "followers:s1"] + Self.users])
      let stage = ExpandStage(
        redis: redis, keyspace: keyspace, options: ExpandOptions(pageSize: 100))
      let followers = stage.users(of: plain("followers:s1"))
      await followers.readAhead()
      let reader = stage.reader(of: followers, fields: [], topic: app)
      #expect(try await reader.next() != nil)
      #expect(followers.remembers)
      while try await reader.next() != nil {}
      #expect(!followers.remembers)
    }
  }

  /// What cannot be read ahead is read when it is needed, and its error is that call's.
  @Test func aFailureIsForgotten() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users)
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      let audience = Audience.sharded(shards: 1, generation: 1, followers: 1_000)
      for audience in [audience, nil] {
        try await redis.commands([["RENAME", "ffd:{f:s1:1:0}", "mislaid"]])
        try await redis.commands([["SET", "ffd:{f:s1:1:0}", "no set"]])
        let followers = stage.users(of: shard(0, of: 1), audience: audience)
        await followers.readAhead()
        let reader = stage.reader(of: followers, fields: [], topic: app)
        let error = await failure { _ = try await reader.next() }
        #expect(error?.code == .redis(.wrongType))
        try await redis.commands([["RENAME", "mislaid", "ffd:{f:s1:1:0}"]])
        #expect(try await reader.next()?.followers ?? 0 > 0)
      }
    }
  }
}
