import Keyspace
import Redis
import Testing

@testable import Expand

/// Whatever Redis answers to a read: an error is never taken for an empty set.
@Suite struct OddReplyTests {
  /// Null, another type, an error inside of the array, an array where a string belongs.
  private static let oddSets = [
    "$-1\r\n", "*-1\r\n", "+OK\r\n", ":0\r\n", "$1\r\n0\r\n", "*1\r\n-ERR inside\r\n",
    "*2\r\n$2\r\nu1\r\n-ERR inside\r\n", "*1\r\n*0\r\n", "*1\r\n$-1\r\n", "*1\r\n:1\r\n",
    "-ERR what this is nobody knows\r\n", "-MOVED 1 127.0.0.1:1\r\n", "-CROSSSLOT no\r\n",
  ]
  private static let oddScans =
    oddSets + ["*0\r\n", "*1\r\n$1\r\n0\r\n", "*2\r\n$1\r\n0\r\n$-1\r\n", "*2\r\n$-1\r\n*0\r\n"]
    + oddSets.map { "*2\r\n$1\r\n0\r\n" + $0 }
  /// Asked for are `muted` and two fields.
  private static let oddProfiles =
    oddSets + [
      "*0\r\n", "*2\r\n$-1\r\n$-1\r\n", "*4\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n",
      "*3\r\n$-1\r\n-ERR inside\r\n$-1\r\n", "*3\r\n$-1\r\n*1\r\n$1\r\nx\r\n$-1\r\n",
    ]
  private typealias Answer = @Sendable ([String]) -> String?
  private static let twoUsers = "*2\r\n$2\r\nu1\r\n$2\r\nu2\r\n"

  private func expectFailure(
    _ answer: @escaping @Sendable ([String]) -> String?, plain isPlain: Bool = false,
    naming key: String
  ) async throws {
    try await withFakeRedis(answer) { redis async throws in
      let segment = isPlain ? plain("followers:s1") : shard(0, of: 1)
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      let reader = stage.reader(
        of: stage.users(of: segment), fields: ["locale", "name"], topic: app)
      var pages = 0
      let error = await failure { while try await reader.next() != nil { pages += 1 } }
      #expect(error != nil && pages == 0, "\(pages) pages")
      #expect(Self.isSound(error), "\(String(describing: error))")
      #expect(error?.message.contains(key) == true, "\(String(describing: error))")
    }
  }

  /// What nobody knows is waited for, for a while. What is no answer to a read at all came on a
  /// connection that is not to be used again.
  private static func isSound(_ error: ExpandError?) -> Bool {
    switch error?.code {
    case .redis(.unsupported):
      error?.isTransient == false && error?.cause?.hasPrefix("CROSSSLOT") == true
    case .redis(.notServed):
      error?.isTransient == true && error?.cause?.hasPrefix("MOVED") == true
    case .redis(.unknownError):
      error?.isUncertain == true && error?.isOutOfStep == false
        && ["nobody knows", "inside"].contains { error?.cause?.hasSuffix($0) == true }
    case .redis(.unexpected): error?.isUncertain == true && error?.isOutOfStep == true
    default: false
    }
  }

  @Test(arguments: ["$-1\r\n", "*0\r\n", "+OK\r\n", "$1\r\n0\r\n", "-ERR nobody knows\r\n"])
  func ofAShardsSize(reply: String) async throws {
    try await expectFailure({ $0[0] == "SCARD" ? reply : nil }, naming: "{f:s1:1:0}")
  }

  @Test(arguments: oddSets)
  func ofAShard(reply: String) async throws {
    try await expectFailure({ $0[0] == "SMEMBERS" ? reply : nil }, naming: "{f:s1:1:0}")
  }

  @Test(arguments: oddScans)
  func ofAScan(reply: String) async throws {
    try await expectFailure(
      { $0[0] == "SSCAN" ? reply : nil }, plain: true, naming: "followers:s1")
  }

  @Test(arguments: oddSets)
  func ofAUsersBindings(reply: String) async throws {
    try await expectFailure(
      { command in
        guard command[0] == "SMEMBERS" else { return nil }
        if command[1] == keyspace.bindings(user: "u2") { return reply }
        return command[1].contains("{f:") ? Self.twoUsers : nil
      }, naming: "{u:u2}:bindings")
  }

  @Test(arguments: oddProfiles)
  func ofAUsersProfile(reply: String) async throws {
    try await expectFailure(
      { command in
        if command[1...].first == keyspace.profile(user: "u1") { return reply }
        return command[0] == "SMEMBERS" && command[1].contains("{f:") ? Self.twoUsers : nil
      }, naming: "{u:u1}:profile")
  }

  @Test(arguments: oddProfiles.filter { $0.hasPrefix("-") || !$0.hasPrefix("*3") })
  func ofAHeading(reply: String) async throws {
    let answer: Answer = { $0[0] == "HMGET" ? reply : nil }
    try await withFakeRedis(answer) { redis async throws in
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      for _ in 0..<2 {
        let error = await failure { _ = try await stage.audience(of: "s1") }
        #expect(Self.isSound(error))
      }
      // The shard is empty, so the heading says whether it moved.
      let error = await failure { _ = try await redis.read(shard(0, of: 1)) }
      #expect(Self.isSound(error))
    }
  }

  /// An error between pages: what was read stays read, the rest is not given up for nothing.
  @Test func anErrorBetweenPagesIsNoEnd() async throws {
    let answer: Answer = { command in
      guard command[0] == "SSCAN" else { return nil }
      return command[2] == "0"
        ? "*2\r\n$1\r\n7\r\n" + Self.twoUsers : "-ERR nobody knows\r\n"
    }
    try await withFakeRedis(answer) { redis async throws in
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      let reader = stage.reader(
        of: stage.users(of: plain("followers:s1")), fields: [], topic: app)
      #expect(try await reader.next()?.followers == 2)
      for _ in 0..<2 {
        let error = await failure { _ = try await reader.next() }
        #expect(error?.code == .redis(.unknownError) && Self.isSound(error))
      }
    }
  }

  static let reads: [(command: String, key: String)] = [
    ("SCARD", keyspace.followerShard(streamer: "s1", generation: 1, shard: 0)),
    ("SMEMBERS", keyspace.followerShard(streamer: "s1", generation: 1, shard: 0)),
    ("SMEMBERS", keyspace.bindings(user: "u1")), ("HMGET", keyspace.profile(user: "u2")),
    ("HMGET", keyspace.followers(of: "s1")),
  ]

  @Test(arguments: reads)
  func aMissingPermissionIsWaitedForAndNamed(command: String, key: String) async throws {
    let refusal = "-NOPERM this user has no permissions to run the command\r\n"
    let answer: Answer = { asked in
      if asked[0] == command, asked[1...].first == key { return refusal }
      // Without members the heading is looked at.
      let isShard = asked[0] == "SMEMBERS" && asked[1].contains("{f:")
      return isShard && !key.contains("{f:s1}") ? Self.twoUsers : nil
    }
    try await withFakeRedis(answer) { redis async throws in
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      let reader = stage.reader(
        of: stage.users(of: shard(0, of: 1)), fields: ["name"], topic: app)
      let error = await failure { while try await reader.next() != nil {} }
      #expect(error?.code == .redis(.notPermitted) && error?.isTransient == true)
      #expect(error?.message.contains("\(command) \(key)") == true)
    }
  }

  /// SSCAN may give a member more than once.
  @Test func whatAScanRepeatsComesOnce() async throws {
    let answer: Answer = { command in
      command[0] == "SSCAN"
        ? "*2\r\n$1\r\n\(command[2] == "0" ? "7" : "0")\r\n" + Self.twoUsers : nil
    }
    try await withFakeRedis(answer) { redis async throws in
      let (reading, restarts) = try await redis.read(plain("followers:s1"))
      #expect(reading.followers == 2 && restarts == 0)
    }
  }
}
