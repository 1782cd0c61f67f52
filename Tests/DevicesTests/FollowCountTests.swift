import Keyspace
import Redis
import Testing
import Threads

@testable import Devices

/// The number of followers that stands in the hash for people to see.
@Suite struct FollowCountTests {
  /// Each announcement makes those begin again who are at work; meanwhile others undo what they
  /// have done.
  @Test func whatIsDoneAgainIsCountedAsOftenAsItChangedSomething() async throws {
    let bed = try RedisBed(.one)
    let isDone = ThreadLock(false)
    try await bed.run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      #expect(try await registry.follow(streamer: "s1", user: "u0"))
    }
    try await withThrowingTaskGroup { group in
      group.addTask {
        try await bed.run { redis async throws in
          while !isDone.withLock({ $0 }) { try await Self.announce(redis) }
        }
      }
      try await withThrowingTaskGroup { clients in
        for client in 0..<8 {
          clients.addTask {
            try await bed.run { redis async throws in
              let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
              for step in 0..<150 {
                if (client + step) % 2 == 0 {
                  try await registry.follow(streamer: "s1", user: "u1")
                } else {
                  try await registry.unfollow(streamer: "s1", user: "u1")
                }
              }
            }
          }
        }
        try await clients.waitForAll()
      }
      isDone.withLock { $0 = true }
      try await group.waitForAll()
    }
    try await bed.run { redis async throws in
      let noted = try await redis.ask("HGET", keyspace.followers(of: "s1"), "followers")
      #expect(noted == String(try await redis.followers("s1").count))
    }
  }

  /// A rewrite that is given up.
  private static func announce(_ redis: RedisClient) async throws {
    let heading = try await redis.audienceHeading(of: "s1", keyspace)
    let rewrite = try await AudienceRewrite.begin(
      redis: redis, keyspace: keyspace, streamer: "s1", heading: heading, followers: 1,
      options: AudienceWriterOptions(), allowsEmpty: false)
    // Long enough for some of them to come to their end.
    for _ in 0..<20 { _ = try await redis.ask("PING") }
    try await rewrite?.abandon()
    for _ in 0..<20 { _ = try await redis.ask("PING") }
  }
}
