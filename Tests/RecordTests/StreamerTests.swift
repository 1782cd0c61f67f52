import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Record

/// A streamer's streams: what ended is told to nobody, what flaps is told once.
@Suite struct StreamerTests {
  private func event(
    _ id: String, stream: String = "b1", app: String = "com.example.live", at: Int64 = noon
  ) -> Event {
    Event(
      id: id, app: app, streamer: "s1", stream: stream, template: "go-live", occurredAt: at,
      expiresAt: at + 900_000, fields: [:], document: [])
  }

  private func open(
    _ event: Event, _ redis: RedisClient, cooldown: Duration = .zero
  ) async throws -> String {
    var options = RecordOptions()
    options.cooldown = cooldown
    let record = RecordStage(redis: redis, keyspace: keyspace, options: options)
    let opened = try await record.open(
      event: event, audience: sharded(2), source: "t/0/\(event.id)", now: noon)
    return switch opened {
    case .new: "new"
    case .stopped(let reason, let figures): figures.isEmpty ? "no figures" : reason
    case .finished: "finished"
    case .resumed: "resumed"
    case .duplicate: "duplicate"
    case .empty: "empty"
    case .waits: "waits"
    }
  }

  private func end(
    _ stream: String, _ redis: RedisClient, at: Int64 = noon + 1000
  ) async throws -> [String] {
    try await RecordStage(redis: redis, keyspace: keyspace)
      .endStream(StreamEnd(streamer: "s1", stream: stream, occurredAt: at), now: noon + 1000)
  }

  @Test func theEndOfAStreamStopsWhatToldOfIt() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      #expect(try await open(event("e1"), redis) == "new")
      #expect(try await open(event("e2", app: "com.example.other"), redis) == "new")
      #expect(try await open(event("e3", stream: "b2"), redis) == "new")
      // Of the same stream, which was on the air again after that end.
      #expect(try await open(event("e4", at: noon + 2000), redis) == "new")
      // At the very moment of the end, by the backend's clock.
      #expect(try await open(event("e5", at: noon + 1000), redis) == "new")
      #expect(try await end("b1", redis) == ["e1", "e2", "e5"])
      let halts = try await record.halts(of: ["e1", "e2", "e3", "e4"])
      #expect(halts == ["e1": .cancelled, "e2": .cancelled, "e3": nil, "e4": nil])
      #expect(try await record.status(of: "e1")?.haltReason == "stream ended")
      // Read again.
      #expect(try await end("b1", redis) == [])
      // The end of another streamer's stream of that name.
      let other = StreamEnd(streamer: "s2", stream: "b2", occurredAt: noon + 1000)
      #expect(try await record.endStream(other, now: noon) == [])
    }
  }

  /// The backend writes both to one partition, and lanes work on several records at a time.
  @Test func whatComesBehindTheEndIsNotSent() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      #expect(try await end("b1", redis) == [])
      // An end that is read late moves nothing back.
      #expect(try await end("b1", redis, at: noon - 5000) == [])
      #expect(try await open(event("e1"), redis) == "stream ended")
      #expect(try await open(event("e1"), redis) == "finished")
      let status = try await record.status(of: "e1")
      #expect(status?.state == .done && status?.segments == 0 && status?.halt == .cancelled)
      #expect(try await open(event("e2", at: noon + 1000), redis) == "stream ended")
      #expect(try await redis.ask("HGET", keyspace.statsTotal, "events_stopped") == "2")
      #expect(try await open(event("e3", at: noon + 1001), redis) == "new")
    }
  }

  @Test func whatFlapsIsToldOnce() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let key = keyspace.streamer(id: "s1")
      let field = "last:com.example.live:go-live"
      /// - Parameter seconds: since one was sent, by Redis' clock.
      func open(_ id: String, after seconds: Int64) async throws -> String {
        let last = try await record.time() - seconds * 1000
        _ = try await redis.ask("HSET", key, field, String(last))
        return try await self.open(event(id), redis, cooldown: .seconds(600))
      }
      #expect(try await self.open(event("e1"), redis, cooldown: .seconds(600)) == "new")
      // Read again by another worker.
      #expect(try await open("e1", after: 1) == "resumed")
      #expect(try await open("e2", after: 500) == "cooldown")
      #expect(try await open("e3", after: 600) == "new")
      // The time begins with what was sent, and not with what was not.
      let sent = try await redis.ask("HGET", key, field)
      #expect(try await self.open(event("e4"), redis, cooldown: .seconds(600)) == "cooldown")
      #expect(try await redis.ask("HGET", key, field) == sent)
      // Another app's followers are told too.
      let other = event("e5", app: "com.example.other")
      #expect(try await self.open(other, redis, cooldown: .seconds(600)) == "new")
      // Redis' clock was set back.
      #expect(try await open("e6", after: -100) == "new")
      #expect(try await self.open(event("e7"), redis) == "new", "no cooldown is set")
    }
  }

  /// Users of an expression are told once as well; who names users means them, and now.
  @Test func eachAudienceHasACooldownOfItsOwn() async throws {
    try await RedisFixture().run { redis async throws in
      func open(_ id: String, _ audience: EventAudience) async throws -> String {
        let event = Event(
          id: id, app: "com.example.live", streamer: "s1", stream: "b1", template: "go-live",
          occurredAt: noon, expiresAt: noon + 900_000, audience: audience, fields: [:],
          document: [])
        return try await self.open(event, redis, cooldown: .seconds(600))
      }
      let beta = EventAudience.matching(.tag("beta"))
      #expect(try await open("e1", beta) == "new")
      #expect(try await open("e2", .matching(.tag("alpha"))) == "new")
      #expect(try await open("e3", .followers) == "new")
      #expect(try await open("e4", beta) == "cooldown")
      #expect(try await open("e5", .followers) == "cooldown")
      for id in ["e6", "e7"] { #expect(try await open(id, .users(["u1"])) == "new") }
      let fields = try await redis.ask("HKEYS", keyspace.streamer(id: "s1"))
      #expect(fields?.contains("last::") != true)
      #expect(try await end("b1", redis).count == 5, "the end of the stream stops each of them")
    }
  }

  /// Redis has lost the hash of an event, which is read again then.
  @Test func anEventIsNotKeptBackByItself() async throws {
    try await RedisFixture().run { redis async throws in
      #expect(try await open(event("e1"), redis, cooldown: .seconds(600)) == "new")
      _ = try await redis.ask("DEL", keyspace.event(id: "e1"))
      #expect(try await open(event("e1"), redis, cooldown: .seconds(600)) == "new")
      #expect(try await open(event("e2"), redis, cooldown: .seconds(600)) == "cooldown")
    }
  }

  @Test func aClockThatIsAheadStopsNoLaterStream() async throws {
    try await RedisFixture().run { redis async throws in
      let now = try await RecordStage(redis: redis, keyspace: keyspace).time()
      let hour: Int64 = 3_600_000
      _ = try await end("b1", redis, at: now + 1000 * hour)
      #expect(try await open(event("e1", at: now + hour / 10), redis) == "stream ended")
      #expect(try await open(event("e2", at: now + hour), redis) == "new")
    }
  }

  /// It is registered, and not opened yet.
  @Test func anEventIsStoppedThatIsJustBeingOpened() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      #expect(try await record.register(event("e1")) == nil)
      #expect(try await end("b1", redis) == ["e1"])
      let segment = Audience.sharded(shards: 1, generation: 1, followers: 0)
        .segments(of: event("e1"))[0]
      let opened = try await record.open(
        event: event("e1"), audience: sharded(1), source: "t/0/e1",
        claim: Claim(segment: segment, owner: "a"), lifetime: .seconds(60), now: noon)
      guard case (.new, .yours(_, isCancelled: true, _)?) = opened else {
        Issue.record("it is sent: \(opened)")
        return
      }
      #expect(try await record.status(of: "e1")?.haltReason == "stream ended")
      #expect(try await redis.table(keyspace.sums(id: "e1"))["events"] == "1")
    }
  }

  /// Of an event that cannot be sent at all, nothing is left that keeps the next one back.
  @Test func whatIsTakenBackIsAsNew() async throws {
    try await RedisFixture().run { redis async throws in
      var options = RecordOptions()
      options.cooldown = .seconds(600)
      let record = RecordStage(redis: redis, keyspace: keyspace, options: options)
      #expect(try await record.register(event("e1")) == nil)
      #expect(try await record.register(event("e1")) == nil)
      #expect(try await record.register(event("e2")) == "cooldown")
      // Another's registration stays.
      try await record.takeBack(event("e2"), isOver: false)
      #expect(try await record.register(event("e3")) == "cooldown")
      try await record.takeBack(event("e1"), isOver: false)
      #expect(try await record.register(event("e4")) == nil)
      #expect(try await record.register(event("e1")) == "cooldown")
    }
  }

  /// A record that is read again, however late, is answered as before, and begins no cooldown.
  @Test func aRefusalIsRemembered() async throws {
    try await RedisFixture().run { redis async throws in
      var options = RecordOptions()
      options.cooldown = .seconds(600)
      let record = RecordStage(redis: redis, keyspace: keyspace, options: options)
      #expect(try await record.register(event("e1")) == nil)
      #expect(try await record.register(event("e2")) == "cooldown")
      let key = keyspace.streamer(id: "s1")
      _ = try await redis.ask("HDEL", key, "last:com.example.live:go-live")
      #expect(try await record.register(event("e2")) == "cooldown")
      #expect(try await redis.ask("HEXISTS", key, "last:com.example.live:go-live") == "0")
      #expect(try await record.register(event("e3")) == nil)
    }
  }

  /// An event that told nobody keeps no later one back.
  @Test func whoHasNoFollowersHasNoCooldown() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await record.open(event: event("e1"), audience: .none, source: "t/0/1", now: noon)
      #expect(try await open(event("e2"), redis, cooldown: .seconds(600)) == "new")
    }
  }

  @Test func onlyTheLatestAreRemembered() async throws {
    try await RedisFixture().run { redis async throws in
      for index in 0..<210 {
        let event = event("e\(index)", stream: "b\(index)", at: noon + Int64(index))
        #expect(try await open(event, redis) == "new")
      }
      let fields = try #require(
        Int(try await redis.ask("HLEN", keyspace.streamer(id: "s1")) ?? ""))
      #expect(fields > 100 && fields <= 202)
      #expect(try await end("b0", redis) == [])
      // A hundred at the least.
      #expect(try await end("b110", redis) == ["e110"])
      #expect(try await end("b209", redis) == ["e209"])
    }
  }
}
