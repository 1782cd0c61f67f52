import Fixtures
import Keyspace
import Redis
import Testing

@testable import Devices

/// `Config/redis/fanfare.lua`: the shipped scripts as functions of Redis 7.
@Suite struct FunctionLibraryTests {
  private static func call(
    _ redis: RedisClient, _ function: String, _ key: String, _ arguments: String...
  ) async throws -> String? {
    let replies = try await redis.execute(RedisPipeline(["FCALL", function, "1", key] + arguments))
    return replies[0].errorText ?? replies[0].integer.map { String($0) }
  }

  @Test func theFunctionsDoWhatTheScriptsDo() async throws {
    let library = try shippedScript("fanfare.lua")
    try await RedisFixture().run { redis async throws in
      #expect(try await redis.ask("FUNCTION", "LOAD", library) == "fanfare")
      let token = keyspace.tokenOwner(token: "00ab")
      let device = ["production", "com.example.live"]
      func bind(_ user: String) async throws -> String? {
        try await Self.call(redis, "fanfare_bind", token, user, device[0], device[1])
      }
      #expect(try await bind("first") == "1")
      #expect(try await bind("first") == "0")
      #expect(try await bind("second") == "1")
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      #expect(try await registry.devices(of: "first").isEmpty)
      #expect(try await registry.devices(of: "second").bound.map(\.binding.token) == ["00ab"])
      #expect(
        try await Self.call(redis, "fanfare_unbind", token, "second", device[0], device[1]) == "1")
      #expect(try await registry.devices(of: "second").isEmpty)
      let heading = keyspace.followers(of: "s1")
      #expect(try await Self.call(redis, "fanfare_follow", heading, "u") == "1")
      #expect(try await redis.followers("s1") == ["u"])
      #expect(try await Self.call(redis, "fanfare_unfollow", heading, "u") == "1")
      let tag = keyspace.ofTags.followers(of: "beta")
      #expect(try await Self.call(redis, "fanfare_tag", tag, "u") == "1")
      let tags = AudienceReader(redis: redis, keyspace: keyspace.ofTags)
      #expect(try await tags.report(on: "beta", sample: 5).sample == ["u"])
      #expect(try await Self.call(redis, "fanfare_untag", tag, "u") == "1")
      #expect(try await tags.report(on: "beta").followers == 0)
      #expect(
        try await Self.call(redis, "fanfare_follow", "x", "u")?.contains("the first key must be")
          == true)
    }
  }

  /// `Config/redis/compose` writes it.
  @Test func theLibraryIsMadeOfTheScripts() throws {
    let library = try shippedScript("fanfare.lua")
    for name in ["bind.lua", "follow.lua"] {
      let lines = try shippedScript(name).split(separator: "\n", omittingEmptySubsequences: false)
      let body = lines.map { $0.isEmpty ? "" : "  " + $0 }.joined(separator: "\n")
      #expect(library.contains(body), "\(name) has changed: run Config/redis/compose")
    }
  }
}
