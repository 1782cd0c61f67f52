import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Record

/// Requests of taps, and the samples that answer them.
@Suite struct TapTests {
  private func filter(_ change: (inout TapFilter) -> Void = { _ in }) -> TapFilter {
    var filter = TapFilter()
    change(&filter)
    return filter
  }

  private func sample(_ event: String) -> TapSample {
    TapSample(
      at: noon, event: event, streamer: "s1", platform: "apns", environment: "production",
      app: "com.example.live", outcome: "rejected", reason: "Unregistered", attempts: 2,
      milliseconds: 12.34, token: "00112233aabbccdd", worker: "w1")
  }

  @Test func aRequestIsReadAsItWasMade() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      #expect(try await record.tapRequest().request == nil)
      let wanted = filter {
        ($0.event, $0.streamer, $0.outcome) = ("e=1", "s 1", "rejected")
        ($0.reason, $0.platform) = ("Unregistered", "apns")
      }
      #expect(try await record.keepTap("t1", wanted, rate: 20, secret: "one"))
      #expect(try await record.keepTap("t2", filter(), rate: 50, secret: "two"))
      let request = try #require(try await record.tapRequest().request)
      // The first tap's, so that all see the same hashes.
      #expect(request.secret == "one")
      #expect(request.rate == 50)
      #expect(request.filters.count == 2)
      #expect(request.filters.contains(wanted))
      let left = try await redis.ask("TTL", keyspace.tapRequests).flatMap { Int($0) } ?? 0
      #expect((1...Keyspace.tapLifetimeSeconds).contains(left))
      try await record.endTap("t1")
      #expect(try await record.tapRequest().request?.filters == [filter()])
      try await record.endTap("t2")
      #expect(try await redis.ask("EXISTS", keyspace.tapRequests) == "0")
    }
  }

  /// A tap that died leaves no place taken.
  @Test func thereAreSoManyTapsAtMost() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      for index in 0..<TapRequest.maximumTaps {
        #expect(try await record.keepTap("t\(index)", filter(), rate: 1, secret: "x"))
      }
      #expect(try await !record.keepTap("one-more", filter(), rate: 1, secret: "x"))
      #expect(try await record.keepTap("t0", filter(), rate: 1, secret: "x"))
      _ = try await redis.ask("HSET", keyspace.tapRequests, "t3", "until=5\nrate=1")
      _ = try await redis.ask("HSET", keyspace.tapRequests, "t4", "nonsense")
      #expect(try await record.keepTap("one-more", filter(), rate: 1, secret: "x"))
      #expect(try await redis.ask("HEXISTS", keyspace.tapRequests, "t3") == "0")
      #expect(try await redis.ask("HEXISTS", keyspace.tapRequests, "t4") == "0")
    }
  }

  @Test func samplesComeInTheirOrderAndOnce() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let start = try await record.tapEnd()
      #expect(start == "0-0")
      try await record.append([sample("e1"), sample("e2")])
      var read = try await record.tapSamples(after: start)
      #expect(read.samples.map(\.event) == ["e1", "e2"])
      var first = read.samples[0]
      #expect(first.milliseconds == 12.3)
      first.milliseconds = 12.34
      #expect(first == sample("e1"))
      read = try await record.tapSamples(after: read.place)
      #expect(read.samples.isEmpty)
      try await record.append([sample("e3")])
      #expect(try await record.tapSamples(after: read.place).samples.map(\.event) == ["e3"])
      #expect(try await record.tapEnd() != "0-0")
      let left = try await redis.ask("TTL", keyspace.tapSamples).flatMap { Int($0) } ?? 0
      #expect((1...Keyspace.tapSamplesLifetimeSeconds).contains(left))
    }
  }

  @Test func theStreamIsCapped() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      for _ in 0..<30 { try await record.append((0..<100).map { sample("e\($0)") }) }
      let length = try await redis.ask("XLEN", keyspace.tapSamples).flatMap { Int($0) } ?? 0
      #expect(length < Keyspace.tapMaximumEntries + 200)
    }
  }

  @Test(
    arguments: [
      (Outcome.rejected(.unregistered), "apns", "apns", "rejected", "Unregistered", true),
      (.rejected(.unregistered), "fcm", "apns", "rejected", "Unregistered", false),
      (.rejected(.badDeviceToken), "apns", "apns", "rejected", "Unregistered", false),
      (.accepted, "apns", "apns", "accepted", nil, true),
      (.suppressed(.quiet), nil, nil, "suppressed", "quiet", true),
      (.suppressed(.quiet), nil, "apns", nil, nil, false),
    ] as [(Outcome, String?, String?, String?, String?, Bool)])
  func aFilterTakes(
    outcome: Outcome, of platform: String?, wantedPlatform: String?, wantedOutcome: String?,
    reason: String?, isTaken: Bool
  ) {
    let filter = filter {
      ($0.platform, $0.outcome, $0.reason) = (wantedPlatform, wantedOutcome, reason)
    }
    #expect(filter.takes(outcome, platform: platform) == isTaken)
  }

  @Test func whatWouldBreakARequestIsNotWritable() {
    #expect(filter { $0.event = "live é" }.isWritable)
    #expect(!filter { $0.event = "a\nrate=9" }.isWritable)
    #expect(!filter { $0.streamer = String(repeating: "x", count: 600) }.isWritable)
  }

  /// Workers that beat no more leave the list.
  @Test func workersAreListedWhileTheyBeat() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await record.heartbeat(worker: "w1", instance: "a", [("lag", "1")], now: noon)
      try await record.heartbeat(worker: "w2", instance: "b", [("lag", "2")], now: noon + 30_000)
      var beats = try await record.beatingWorkers(atMost: 10)
      #expect(beats.workers.map(\.id) == ["w2", "w1"])
      #expect(beats.workers.map { $0.fields["lag"] } == ["2", "1"])
      #expect(try await record.tapRequest().workers == 2)
      beats = try await record.beatingWorkers(atMost: 1)
      #expect(beats.workers.map(\.id) == ["w2"])
      #expect(beats.all == 2)
      // As when its heartbeat has expired.
      _ = try await redis.ask("DEL", keyspace.worker(id: "w1"))
      #expect(try await record.beatingWorkers(atMost: 10).workers.map(\.id) == ["w2"])
    }
  }
}
