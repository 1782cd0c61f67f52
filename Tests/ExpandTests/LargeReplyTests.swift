import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Expand

/// Replies that are too large, or too slow: less is asked for, and nobody else pays for it.
@Suite struct LargeReplyTests {
  private static let users = (0..<300).map { "user-\($0)" }

  @Test func aUserWithAHugeValueIsPassedOverAndNamed() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.heading(1, generation: 1)
      try await redis.place(Self.users, shards: 1)
      try await redis.equip(Self.users)
      let huge = String(repeating: "x", count: 6 << 20)
      try await redis.commands([
        ["HSET", keyspace.profile(user: "user-7"), "name", huge],
        ["SADD", keyspace.bindings(user: "user-8"), huge],
      ])
      let (reading, _) = try await redis.read(
        shard(0, of: 1), options: ExpandOptions(pageSize: 100))
      #expect(reading.users.sorted() == Set(Self.users).subtracting(["user-7", "user-8"]).sorted())
      #expect(reading.skipped == 2 && reading.passedOver.sorted() == ["user-7", "user-8"])
    }
  }

  /// Each of them fits, all together do not, by far.
  @Test func manyUsersWithMuchEachAreReadInSmallPages() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.heading(1, generation: 1)
      try await redis.place(Self.users, shards: 1)
      try await redis.equip(Self.users)
      let name = String(repeating: "n", count: 20_000)
      try await redis.commands(
        Self.users.map { ["HSET", keyspace.profile(user: $0), "locale", "ja", "name", name] })
      var options = ExpandOptions()
      options.maximumPageBytes = 300_000
      let (reading, _) = try await redis.read(shard(0, of: 1), options: options)
      #expect(reading.users.sorted() == Self.users.sorted())
      #expect(reading.passedOver.isEmpty && reading.skipped == Self.users.count)
      #expect(reading.fields.values.allSatisfy { $0 == ["ja", nil] })
      #expect(reading.pageSizes.allSatisfy { $0 <= 14 } && reading.pageSizes.contains { $0 > 4 })
      // The connection was given up while the right size was looked for, not for each page.
      let told = try await redis.ask("INFO", "stats") ?? ""
      let line = told.split(whereSeparator: \.isNewline).first {
        $0.hasPrefix("total_connections_received:")
      }
      let connections = try #require(line.flatMap { Int($0.split(separator: ":")[1]) })
      #expect(connections < 15)
    }
  }

  @Test(arguments: [true, false])
  func aSetOfHugeMembersIsReadPieceByPiece(isPlain: Bool) async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.heading(1, generation: 1)
      let segment = isPlain ? plain("followers:s1") : shard(0, of: 1)
      let key =
        isPlain
        ? "followers:s1"
        : keyspace.followerShard(
          streamer: "s1", generation: 1, shard: 0)
      let huge = (0..<110).map { "\($0)" + String(repeating: "x", count: 60_000) }
      try await redis.commands([["SADD", key] + Self.users, ["SADD", key] + huge])
      try await redis.equip(Self.users)
      var options = ExpandOptions()
      options.maximumPageBytes = 400_000
      let (reading, _) = try await redis.read(segment, options: options)
      #expect(reading.users.sorted() == Self.users.sorted())
      #expect(reading.skipped == huge.count)
    }
  }

  @Test func aMemberThatNeverFitsIsAnErrorThatNamesTheKey() async throws {
    try await RedisFixture().run { redis async throws in
      let huge = String(repeating: "x", count: 3 << 20)
      try await redis.commands([["SADD", "followers:s1", huge, "user-1"]])
      let error = await failure { _ = try await redis.read(plain("followers:s1")) }
      #expect(error?.code == .badContent && error?.isTransient == false)
      #expect(error?.description.contains("followers:s1") == true)
    }
  }

  @Test func aHugeFieldOfAHeadingIsAnErrorThatNamesTheKey() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.heading(1, generation: 2)
      let key = keyspace.followers(of: "s1")
      try await redis.commands([
        ["HSET", key, "followers", String(repeating: "9", count: 10 << 20)]
      ])
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      let errors = [
        await failure { _ = try await stage.audience(of: "s1") },
        // Its shard is gone, so the heading is looked at.
        await failure { _ = try await redis.read(shard(0, of: 1)) },
      ]
      for error in errors {
        #expect(error?.code == .badContent && error?.isTransient == false)
        #expect(error?.description.contains(key) == true)
      }
    }
  }

  @Test func aSlowRedisIsWaitedForUntilTheEventExpires() async throws {
    let fixture = try RedisFixture()
    try await fixture.run(commandTimeout: .milliseconds(100)) { redis async throws in
      try await redis.commands([["SADD", "followers:s1"] + Self.users])
      try await redis.equip(Self.users)
      let clock = Clock()
      let stage = ExpandStage(
        redis: redis, keyspace: keyspace, options: ExpandOptions(pageSize: 10))
      let followers = stage.users(of: plain("followers:s1"))
      let reader = stage.reader(of: followers, fields: [], topic: app, now: { clock.now })
      // A busy machine is slow of itself.
      var hasBegun = false
      for _ in 0..<50 where !hasBegun { hasBegun = (try? await reader.next()) != nil }
      #expect(hasBegun && followers.remembers)
      // `event()` expires at 1.
      fixture.server.freeze()
      let before = await failure { _ = try await reader.next() }
      #expect(before?.isTransient == true)
      clock.now = 1
      var last: ExpandError?
      // A connection that is not there yet is no slow Redis.
      for _ in 0..<50 where last?.code != .expired {
        fixture.server.resume()
        while !redis.isConnected { _ = try? await redis.ask("PING") }
        fixture.server.freeze()
        last = await failure { _ = try await reader.next() }
      }
      fixture.server.resume()
      #expect(last?.code == .expired && last?.isTransient == false)
      #expect(!followers.remembers)
    }
  }

  @Test func paceHalvesAndComesBack() {
    var pace = PagePace(maximumUsers: 512, maximumBytes: 1_000_000)
    pace.fitted(512, bytes: 300_000)
    #expect(pace.users == 512 && !pace.isSlowed)
    pace.tooMuch(512)
    #expect(pace.users == 256 && pace.isSlowed)
    // A page that was longer than asked for, as a scan's may be.
    pace.tooMuch(700)
    #expect(pace.users == 128)
    for _ in 0..<10 { pace.tooMuch(1) }
    #expect(pace.users == 1)
    pace.fitted(1, bytes: 100_000)
    #expect(pace.users == 2)
    for _ in 0..<4 { pace.fitted(pace.users, bytes: pace.users * 100_000) }
    #expect(pace.users == 5)
    for _ in 0..<10 { pace.fitted(pace.users, bytes: pace.users * 100) }
    #expect(pace.users == 512)
    pace.fitted(512, bytes: 0)
    #expect(pace.users == 512)
  }
}

@Suite struct PageLengthTests {
  private static func lengths(_ batch: Int, size: Int) -> [Int] {
    let pace = PagePace(maximumUsers: size, maximumBytes: 1_000_000)
    var (lengths, left): ([Int], Int) = ([], batch)
    while left > 0 {
      lengths.append(pace.length(left, of: batch))
      left -= max(1, lengths[lengths.count - 1])
    }
    return lengths
  }

  @Test func aBatchOfUpToTwoPagesStaysWhole() {
    #expect(Self.lengths(1, size: 512) == [1])
    #expect(Self.lengths(1_024, size: 512) == [1_024])
    #expect(Self.lengths(2, size: 1) == [2])
  }

  /// No short last page, which would cost as many round trips as the others.
  @Test func aLargerOneIsDividedEvenly() {
    #expect(Self.lengths(1_025, size: 512) == [513, 512])
    #expect(Self.lengths(1_172, size: 512) == [586, 586])
    #expect(Self.lengths(2_048, size: 512) == [512, 512, 512, 512])
    #expect(Self.lengths(3, size: 1) == [1, 1, 1])
    for batch in stride(from: 1, through: 20_000, by: 7) {
      let lengths = Self.lengths(batch, size: 100)
      #expect(lengths.reduce(0, +) == batch)
      guard batch > 200 else { continue }
      #expect(lengths.allSatisfy { (100...150).contains($0) }, "\(batch): \(lengths)")
    }
  }

  @Test func aSlowedPaceAsksForWhatFits() {
    var pace = PagePace(maximumUsers: 512, maximumBytes: 1_000_000)
    pace.tooMuch(512)
    #expect(pace.length(1_000, of: 1_000) == 256)
    #expect(pace.length(10, of: 1_000) == 10)
  }

  /// Whatever was left when the pace had come back.
  @Test func whatIsLeftOfADividedBatchIsAPage() {
    let pace = PagePace(maximumUsers: 512, maximumBytes: 1_000_000)
    #expect(pace.length(100, of: 2_000) == 100)
    #expect(pace.length(1_023, of: 2_000) == 1_023)
    #expect(pace.length(1_024, of: 2_000) == 512)
  }

  /// Each master is asked for as many as one Redis would be, as long as snapshots may be that many.
  @Test func pagesGrowWithTheMastersThatTheyAreDividedAmong() {
    var options = ExpandOptions(pageSize: 100)
    #expect(options.pageSize(masters: 0) == 100)
    #expect(options.pageSize(masters: 1) == 100)
    #expect(options.pageSize(masters: 3) == 300)
    #expect(options.pageSize(masters: 1_000) == 819)
    #expect(2 * 819 <= SnapshotPage.maximumUsers(bytes: options.maximumPageBytes))
    options.pageSize = 2_000
    #expect(options.pageSize(masters: 3) == 2_000)
  }
}

private final class Clock { var now: Int64 = 0 }
