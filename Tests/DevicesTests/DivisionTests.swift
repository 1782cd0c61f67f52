import Fixtures
import Keyspace
import Redis
import ServerProcesses
import Testing
import Threads

@testable import Devices

/// What falls between two steps of a division, each in its place.
@Suite struct DivisionTests {
  private static let source = "ffd:{f:s1:1:0}"
  private static let target = "ffd:{f:s1:2:0}"

  /// Divides an audience of three; `meanwhile` gets what Redis answers, and the number of answers
  /// that look so.
  private func divide(
    _ meanwhile: @escaping @Sendable (RedisServerProcess, String) throws -> Void
  ) async throws -> [String] {
    let fixture = try RedisFixture()
    let server = fixture.server
    try server.cli("SADD", Self.source, "a", "b", "c")
    try server.cli("HSET", "ffd:{f:s1}", "shards", "1", "generation", "1", "followers", "3")
    try await ProxiedClient.run(
      to: server.port, commandTimeout: .seconds(60),
      rewriter: { bytes in
        try? meanwhile(server, String(decoding: bytes, as: UTF8.self))
        return bytes
      },
      { redis in
        _ = try await AudienceSharding(redis: redis, keyspace: keyspace)
          .run(streamer: "s1", from: .current)
      })
    return try await fixture.run { redis async throws in try await redis.followers("s1") }
  }

  /// As `FollowChanges` does: first what fan-outs read, then what they will read.
  private static func unfollow(_ server: RedisServerProcess, _ user: String) throws {
    try server.cli("SREM", source, user)
    try server.cli("SREM", target, user)
  }

  private static func follow(_ server: RedisServerProcess, _ user: String) throws {
    try server.cli("SADD", source, user)
    try server.cli("SADD", target, user)
  }

  @Test func whoUnfollowsBetweenReadingAndWritingDoesNotComeBack() async throws {
    let followers = try await divide { server, answer in
      // The answer to SSCAN.
      if answer.contains("\r\n$1\r\nb\r\n") { try Self.unfollow(server, "b") }
    }
    #expect(followers == ["a", "c"])
  }

  @Test func whoFollowsAgainBeforeBeingTakenBackIsNotLost() async throws {
    let returned = ThreadLock(false)
    let followers = try await divide { server, answer in
      if answer.contains("\r\n$1\r\nb\r\n") { try Self.unfollow(server, "b") }
      // The answer that says one of the three is gone.
      let isThere = answer.split(separator: "\r\n").prefix(3)
      if isThere.sorted() == [":0", ":1", ":1"] {
        try Self.follow(server, "b")
        returned.withLock { $0 = true }
      }
    }
    #expect(returned.withLock { $0 })
    #expect(followers == ["a", "b", "c"])
  }

  /// Several change the same users at the same time: fan-outs read after a division what they read
  /// before it.
  @Test(arguments: RedisBed.Kind.allCases)
  func bothGenerationsAgreeAfterwards(_ kind: RedisBed.Kind) async throws {
    let bed = try RedisBed(kind)
    try await bed.run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      _ = try await registry.follow(streamer: "s1", user: "u0")
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: "s1", expectedFollowers: 1)
    }
    await withTaskGroup { group in
      for client in 0..<6 {
        group.addTask {
          try? await bed.run { redis async throws in
            let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
            for round in 0..<200 {
              let user = "u\(round % 2)"
              // Who loses sixteen times running is told so.
              if (client + round / 2) % 2 == 0 {
                _ = try? await registry.follow(streamer: "s1", user: user)
              } else {
                _ = try? await registry.unfollow(streamer: "s1", user: user)
              }
            }
          }
        }
      }
    }
    try await bed.run { redis async throws in
      let current = try await redis.members("ffd:{f:s1:0:0}")
      let coming = try await redis.members("ffd:{f:s1:1:0}")
      #expect(current == coming)
    }
  }

  /// A follow that meets a shard which is there no more leaves nothing of it.
  @Test func aGenerationThatWentAwayDoesNotComeBack() async throws {
    let fixture = try RedisFixture()
    let server = fixture.server
    try server.cli("SADD", Self.source, "a")
    try server.cli("HSET", "ffd:{f:s1}", "shards", "1", "generation", "1", "followers", "1")
    let isDivided = ThreadLock(false)
    try await ProxiedClient.run(
      to: server.port, commandTimeout: .seconds(60),
      rewriter: { bytes in
        // The heading has been read: now the followers are divided.
        guard String(decoding: bytes, as: UTF8.self).hasPrefix("*3\r\n$1\r\n1\r\n$1\r\n1\r\n")
        else {
          return bytes
        }
        let isFirst = isDivided.withLock { isDivided in
          defer { isDivided = true }
          return !isDivided
        }
        if isFirst {
          _ = try? server.cli("SADD", Self.target, "a")
          _ = try? server.cli("HSET", "ffd:{f:s1}", "generation", "2")
          _ = try? server.cli("DEL", Self.source)
        }
        return bytes
      },
      { redis async throws in
        let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
        #expect(try await registry.follow(streamer: "s1", user: "b"))
      })
    #expect(isDivided.withLock { $0 })
    try await fixture.run { redis async throws in
      #expect(try await redis.followers("s1") == ["a", "b"])
      #expect(try await redis.keys() == ["ffd:{f:s1:2:0}", "ffd:{f:s1}"])
    }
  }
}
