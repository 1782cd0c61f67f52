import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Devices

/// Rows of an import whose keys hold something else.
@Suite struct AudienceImporterTests {
  private static let token = String(repeating: "ab", count: 32)

  private static func line(_ user: String, _ token: String, _ follows: String) -> ImportLine {
    .text(
      Array(
        #"""
        {"user":"\#(user)","follows":[\#(follows)],"tags":["beta"],"profile":{"locale":"ja"},
        "devices":[{"token":"\#(token)","topic":"a.b"}]}
        """#.utf8))
  }

  private static func importer(_ redis: RedisClient) -> AudienceImporter {
    AudienceImporter(
      redis: redis, keyspace: keyspace, plainSet: nil,
      reader: ImportRowReader(defaultTopic: nil, now: 1_790_000_000_000))
  }

  /// Takes three rows, of which the second is that of `u2`.
  private static func run(
    _ redis: RedisClient
  ) async throws -> (counts: AudienceImporter.Counts, refused: [RefusedLine]) {
    let importer = Self.importer(redis)
    for (line, user) in ["u1", "u2", "u3"].enumerated() {
      let token = user == "u2" ? Self.token : "\(line)a"
      let refusal = try await importer.take(
        self.line(user, token, user == "u2" ? #""s1","s2""# : #""s1""#), number: line + 1)
      #expect(refusal == nil)
      #expect(importer.counts.users == 0 && importer.counts.devices == 0)
    }
    let counts = try await importer.finish()
    return (counts, importer.takeRefused())
  }

  static let ofUser: [String] =
    [
      keyspace.tokenOwner(token: token), keyspace.tokenMoves(token: token),
      keyspace.profile(user: "u2"),
    ] + keyspace.movingKeys(user: "u2")

  @Test(arguments: ofUser)
  func aKeyOfAnotherTypeRefusesItsRowAlone(_ key: String) async throws {
    try await RedisFixture().run { redis async throws in
      _ = try await redis.ask("LPUSH", key, "something else")
      let (counts, refused) = try await Self.run(redis)
      #expect(refused.map(\.line) == [2])
      let reason = refused.first?.reason ?? ""
      #expect(reason.hasPrefix("u2: ") && !reason.contains(Self.token), "\(reason)")
      #expect(reason.contains(key.contains("{t:") ? "the key of a token" : key), "\(reason)")
      #expect(counts.rows == 3 && counts.refused == 1 && counts.users == 2 && counts.devices == 2)
      #expect(try await redis.tokens("u1") == ["0a"])
      #expect(try await redis.tokens("u3") == ["2a"])
      #expect(try await redis.ask("TYPE", key) == "list")
      // The follows and tags of the row are written.
      #expect(try await redis.followers("s1") == ["u1", "u2", "u3"])
      #expect(counts.follows == 4 && counts.tags == 3)
    }
  }

  static let ofStreamers: [(key: String, missing: Int)] = [
    (keyspace.followers(of: "s2"), 1),
    (keyspace.followerShard(streamer: "s2", generation: 0, shard: 0), 1),
    (keyspace.ofTags.followers(of: "beta"), 3),
  ]

  @Test(arguments: ofStreamers)
  func aListOfAnotherTypeKeepsNobodyFromTheOthers(_ key: String, _ missing: Int) async throws {
    try await RedisFixture().run { redis async throws in
      _ = try await redis.ask("LPUSH", key, "something else")
      let (counts, refused) = try await Self.run(redis)
      #expect(refused.map(\.line) == (missing == 1 ? [2] : [1, 2, 3]))
      #expect(refused.allSatisfy { $0.reason.contains(key) }, "\(refused)")
      #expect(counts.refused == missing && counts.users == 3 - missing && counts.devices == 3)
      #expect(counts.follows + counts.tags == 7 - missing)
      #expect(try await redis.followers("s1") == ["u1", "u2", "u3"])
      let noted = try await redis.ask("HGET", keyspace.followers(of: "s1"), "followers")
      #expect(noted == "3")
    }
  }

  /// The page is not written to its end: what was refused of it until then is still reported.
  @Test func anImportThatBreaksOffReportsItsRefusedRows() async throws {
    try await RedisFixture().run { redis async throws in
      _ = try await redis.ask("LPUSH", keyspace.bindings(user: "u2"), "something else")
      let importer = Self.importer(redis)
      for (line, user) in ["u1", "u2", "u3"].enumerated() {
        _ = try await importer.take(
          Self.line(user, "\(line)a", #""s1""#), number: line + 1)
      }
      _ = try await redis.ask("ACL", "SETUSER", "default", "-hincrby")
      let error = await failure { _ = try await importer.finish() }
      #expect(error?.code == .redis(.notPermitted), "\(String(describing: error))")
      #expect(importer.takeRefused().map(\.line) == [2] && importer.counts.refused == 1)
      #expect(importer.counts.users == 0 && importer.counts.devices == 2)
    }
  }

  @Test func aKeyThatARowIsNotWrittenToRefusesNothing() async throws {
    try await RedisFixture().run { redis async throws in
      _ = try await redis.ask("SET", keyspace.bindings(user: "u1"), "x")
      let importer = Self.importer(redis)
      let row = #"{"user":"u1","profile":{"locale":"ja"}}"#
      _ = try await importer.take(.text(Array(row.utf8)), number: 1)
      #expect(try await importer.finish().users == 1 && importer.takeRefused() == [])
      #expect(try await redis.ask("HGET", keyspace.profile(user: "u1"), "locale") == "ja")
    }
  }

  /// The times of the former owner's devices cannot be told.
  @Test func aTokenOfAUserWhoseKeyHoldsAnotherTypeIsTaken() async throws {
    try await RedisFixture().run { redis async throws in
      _ = try await redis.ask("SET", keyspace.tokenOwner(token: Self.token), "x")
      _ = try await redis.ask("SET", keyspace.bound(user: "x"), "something else")
      let importer = Self.importer(redis)
      for (line, token) in ["0a", Self.token, "2a"].enumerated() {
        let row = #"""
          {"user":"u\#(line)",
          "devices":[{"token":"\#(token)","topic":"a.b","bound_at":1789000000000}]}
          """#
        _ = try await importer.take(.text(Array(row.utf8)), number: line + 1)
      }
      let counts = try await importer.finish()
      #expect(importer.takeRefused() == [] && counts.devices == 3)
      #expect(try await redis.tokens("u0") == ["0a"])
      #expect(try await redis.tokens("u2") == ["2a"])
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: Self.token)) == "u1")
    }
  }

  /// Nobody is told twice of one row, and nothing counts that Redis did not take.
  @Test func aRowWithTwoWrongKeysIsRefusedOnce() async throws {
    try await RedisFixture().run { redis async throws in
      _ = try await redis.ask("SET", keyspace.bound(user: "u2"), "x")
      _ = try await redis.ask("SET", keyspace.followers(of: "s2"), "x")
      let (counts, refused) = try await Self.run(redis)
      #expect(refused.map(\.line) == [2] && counts.refused == 1 && counts.users == 2)
      _ = try await redis.ask("ACL", "SETUSER", "default", "-hset")
      let importer = Self.importer(redis)
      _ = try await importer.take(Self.line("u4", "4a", ""), number: 1)
      #expect(await failure { _ = try await importer.finish() }?.code == .redis(.notPermitted))
      #expect(importer.counts.users == 0 && importer.counts.devices == 0)
      _ = try await redis.ask("ACL", "SETUSER", "default", "+@all")
    }
  }

  /// An import takes nothing out, so an empty value is none.
  @Test func anEmptyFieldIsNotStored() throws {
    let reader = ImportRowReader(defaultTopic: nil, now: 1)
    let row = try reader.read(
      Array(#"{"user":"u","profile":{"name":"","x":"","muted_streamers":[],"tz":"UTC"}}"#.utf8))
    #expect(row.rows[0].profile.map(\.name) == ["tz"])
  }

  @Test(arguments: [#"["a\nb"]"#, #"[""]"#, #"["s:1:2"]"#])
  func aStreamerIsOneLineOfTheMutedOnes(_ list: String) throws {
    let reader = ImportRowReader(defaultTopic: nil, now: 1)
    let error = #expect(throws: ImportRow.Refusal.self) {
      try reader.read(Array(#"{"user":"u","profile":{"muted_streamers":\#(list)}}"#.utf8))
    }
    #expect(error?.reason.contains("muted_streamers") == true)
  }
}
