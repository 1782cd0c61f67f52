import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Devices
@testable import Tokens

/// The steps of a move, in an order that only chance or a crash brings about.
@Suite struct TokenMovesTests {
  private static let member = "apns:production:com.example.live:aa"

  private static func bind(
    _ redis: RedisClient, _ user: String, at: Int64 = 100
  ) async throws {
    try await DeviceRegistry(redis: redis, keyspace: keyspace)
      .bind(user: user, try binding("aa"), at: at)
  }

  /// Steps 1 and 2.
  private static func claim(
    _ redis: RedisClient, _ user: String
  ) async throws -> TokenMoves.Move {
    let claims = try await TokenMoves(redis: redis, keyspace: keyspace).claim([("aa", user)])
    return try #require(claims[0])
  }

  /// Step 1 alone, as of somebody who dies behind it.
  private static func name(
    _ redis: RedisClient, _ user: String
  ) async throws -> TokenMoves.Move {
    let named = try await TokenMoves(redis: redis, keyspace: keyspace)
      .name([("aa", user)], sparesOthers: false)
    return try #require(named[0])
  }

  /// Step 3. Returns whether it was in time.
  private static func take(
    _ redis: RedisClient, _ move: TokenMoves.Move
  ) async throws -> Bool {
    let answer = try await redis.reply(
      to: DeviceScripts.take, keys: keyspace.movingKeys(user: move.user),
      arguments: DeviceScripts.lifetimes + ["at": "100"],
      list: [member, move.number, move.isReturning ? "1" : "0"])
    return answer.count == 1
  }

  private static func expect(
    _ redis: RedisClient, owner: String?, _ place: SourceLocation = #_sourceLocation
  ) async throws {
    for user in ["u1", "u2", "u3"] {
      let tokens = try await redis.tokens(user)
      #expect(tokens == (user == owner ? ["aa"] : []), "\(user)", sourceLocation: place)
    }
    let known = try await redis.ask("GET", keyspace.tokenOwner(token: "aa"))
    #expect(known == owner, sourceLocation: place)
  }

  /// A token that is new to Redis, and one that has moved already.
  @Test(arguments: [false, true])
  func whoComesLateTakesNothing(_ hasMoved: Bool) async throws {
    try await RedisFixture().run { redis async throws in
      if hasMoved { for user in ["u3", "u1"] { try await Self.bind(redis, user) } }
      let late = try await Self.claim(redis, "u1")
      try await Self.bind(redis, "u2")
      #expect(try await !Self.take(redis, late))
      try await Self.expect(redis, owner: "u2")
      try await TokenMoves(redis: redis, keyspace: keyspace).settle([late])
      try await Self.bind(redis, "u1")
      try await Self.expect(redis, owner: "u1")
    }
  }

  @Test func whoHasComeBackIsNotSentAwayByAnOlderMove() async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.bind(redis, "u1")
      let older = try await Self.name(redis, "u2")
      #expect(older.leaving == ["u1"])
      try await Self.bind(redis, "u1")
      let tokens = TokenMoves(redis: redis, keyspace: keyspace)
      try await tokens.dismiss([older])
      try await tokens.settle([older])
      try await Self.expect(redis, owner: "u1")
      // Nor is one who has left in between.
      let other = try await Self.claim(redis, "u2")
      try await Self.bind(redis, "u1")
      try await tokens.dismiss([other])
      try await Self.expect(redis, owner: "u1")
    }
  }

  @Test func whatSomebodyLeftOverIsFinishedByTheNext() async throws {
    try await RedisFixture().run { redis async throws in
      let moves = keyspace.tokenMoves(token: "aa")
      try await Self.bind(redis, "u1")
      #expect(try await redis.ask("EXISTS", moves) == "0")
      // Dead after step 1: the token is where it was, and will be asked for.
      _ = try await Self.name(redis, "u2")
      #expect(try await redis.tokens("u1") == ["aa"])
      #expect(try await redis.ask("TTL", moves) == "-1")
      try await Self.bind(redis, "u3")
      try await Self.expect(redis, owner: "u3")
      // Dead after step 2, and after step 3.
      _ = try await Self.claim(redis, "u1")
      try await Self.bind(redis, "u2")
      try await Self.expect(redis, owner: "u2")
      #expect(try await Self.take(redis, try await Self.claim(redis, "u3")))
      try await Self.bind(redis, "u1")
      try await Self.expect(redis, owner: "u1")
      let left = Int(try await redis.ask("TTL", moves) ?? "") ?? 0
      #expect(left > 0 && left <= Keyspace.movesLifetimeSeconds)
      #expect(try await redis.table(moves).count == 1)
    }
  }

  @Test func whoIsLateForgetsNobodyWhoHasToLeave() async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.bind(redis, "u1")
      let older = try await Self.claim(redis, "u2")
      #expect(try await Self.take(redis, older))
      // Somebody begins another move and dies; now the first one ends.
      _ = try await Self.name(redis, "u3")
      try await TokenMoves(redis: redis, keyspace: keyspace).settle([older])
      try await Self.bind(redis, "u3")
      try await Self.expect(redis, owner: "u3")
    }
  }

  @Test func aDeviceThatIsBoundWhileItIsReleasedStays() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let tokens = TokenMoves(redis: redis, keyspace: keyspace)
      // Bound again before the token is released.
      try await Self.bind(redis, "u1")
      try await tokens.release([("aa", "u1")])
      try await Self.expect(redis, owner: "u1")
      // Begun before, and taken after: too late, so it begins again.
      let late = try await Self.claim(redis, "u1")
      #expect(try await registry.unbind(user: "u1", try binding("aa")))
      #expect(try await !Self.take(redis, late))
      try await Self.expect(redis, owner: nil)
      try await Self.bind(redis, "u1")
      try await Self.expect(redis, owner: "u1")
      // Another's is not touched.
      try await tokens.release([("aa", "u2")])
      try await Self.expect(redis, owner: "u1")
    }
  }

  /// The token has no owner, but who may have it is known.
  @Test(arguments: ["u1", "u2"])
  func whoDiesWhileReleasingLeavesNobodyWithAToken(_ next: String) async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.bind(redis, "u1")
      let keys = [keyspace.tokenOwner(token: "aa"), keyspace.tokenMoves(token: "aa")]
      _ = try await redis.reply(
        to: TokenScripts.release, keys: keys,
        arguments: TokenLua.movesLifetime + ["user": "u1"])
      #expect(try await redis.ask("GET", keys[0]) == nil)
      try await Self.bind(redis, next)
      try await Self.expect(redis, owner: next)
    }
  }

  /// Somebody puts a name on the token by a plain command, before its owner is put back.
  @Test func whoIsToLeaveIsNotForgottenWhenTheOwnerIsAnother() async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.bind(redis, "u1")
      let keys = [keyspace.tokenOwner(token: "aa"), keyspace.tokenMoves(token: "aa")]
      let released = try await redis.reply(
        to: TokenScripts.release, keys: keys,
        arguments: TokenLua.movesLifetime + ["user": "u1"])
      let number = try #require(released[0].text)
      _ = try await redis.ask("SET", keys[0], "u2", "NX")
      _ = try await redis.reply(
        to: TokenScripts.settle, keys: keys,
        arguments: TokenLua.movesLifetime + ["number": number, "owner": "u1"])
      try await Self.bind(redis, "u2")
      try await Self.expect(redis, owner: "u2")
    }
  }

  /// Two tokens of one user: what is old is forgotten, what is young is not.
  @Test func aUserRemembersMovesForTenMinutes() async throws {
    try await RedisFixture().run { redis async throws in
      let moves = keyspace.moves(user: "u1")
      try await Self.bind(redis, "u1")
      _ = try await redis.ask("ZADD", moves, "1000000", "old")
      try await Self.bind(redis, "u2")
      #expect(try await redis.ask("ZCARD", moves) == "1")
      #expect(try await redis.ask("ZSCORE", moves, "aa") != nil)
      let left = Int(try await redis.ask("TTL", moves) ?? "") ?? 0
      #expect(left > 0 && left <= Keyspace.movesLifetimeSeconds)
    }
  }

  /// A clock that was put back makes no move look older than the last.
  @Test func aMoveIsLaterThanTheLastWhateverTheClockSays() async throws {
    try await RedisFixture().run { redis async throws in
      for user in ["u1", "u2"] { try await Self.bind(redis, user) }
      let future = "8000000000000000"
      _ = try await redis.ask("HSET", keyspace.tokenMoves(token: "aa"), "number", future)
      _ = try await redis.ask("ZADD", keyspace.moves(user: "u1"), future, "aa")
      try await Self.bind(redis, "u1")
      try await Self.expect(redis, owner: "u1")
    }
  }

  /// `bind.lua` says `movesLifetimeSeconds` again.
  @Test func theShippedScriptRemembersForAsLong() async throws {
    let script = try bindScript()
    try await RedisFixture().run { redis async throws in
      let began = ContinuousClock.now
      for user in ["u1", "u2"] {
        let reply = try await redis.ask(
          "EVAL", script, "1", keyspace.tokenOwner(token: "aa"), "bind", user, "production",
          "com.example.live")
        #expect(reply == "1")
      }
      let lifetime = Duration.seconds(Keyspace.movesLifetimeSeconds)
      for key in [keyspace.tokenMoves(token: "aa"), keyspace.moves(user: "u1")] {
        let left = Duration.milliseconds(Int(try await redis.ask("PTTL", key) ?? "") ?? 0)
        let passed = ContinuousClock.now - began
        // A lifetime is whole seconds: half of one is for the clocks.
        #expect(left <= lifetime && left > lifetime - passed - .milliseconds(500), "\(key)")
      }
    }
  }

  /// `bind.lua` in the place of each step of ours.
  @Test func theShippedScriptKeepsToTheSteps() async throws {
    let script = try bindScript()
    try await RedisFixture().run { redis async throws in
      func evaluate(_ verb: String, _ user: String) async throws {
        let reply = try await redis.ask(
          "EVAL", script, "1", keyspace.tokenOwner(token: "aa"), verb, user, "production",
          "com.example.live")
        #expect(reply != nil)
      }
      // What we began before it comes too late.
      var late = try await Self.claim(redis, "u1")
      try await evaluate("bind", "u2")
      #expect(try await !Self.take(redis, late))
      try await Self.expect(redis, owner: "u2")
      late = try await Self.claim(redis, "u2")
      try await evaluate("unbind", "u2")
      #expect(try await !Self.take(redis, late))
      try await Self.expect(redis, owner: nil)
      // Who came back by it stays.
      try await evaluate("bind", "u1")
      let older = try await Self.name(redis, "u2")
      try await evaluate("bind", "u1")
      try await TokenMoves(redis: redis, keyspace: keyspace).dismiss([older])
      try await Self.expect(redis, owner: "u1")
      // It finishes what we left over.
      _ = try await Self.name(redis, "u2")
      try await evaluate("bind", "u3")
      try await Self.expect(redis, owner: "u3")
      _ = try await Self.name(redis, "u2")
      try await evaluate("unbind", "u2")
      try await Self.expect(redis, owner: nil)
      #expect(try await redis.table(keyspace.tokenMoves(token: "aa")).count == 1)
    }
  }
}
