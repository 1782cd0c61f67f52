import Fixtures
import Model
import Redis
import Testing

@testable import Record

/// Redis and a lane's stage for tests of events that wait for their time.
struct ScheduleHarness {
  /// The record in which an event came.
  static let first = "notify-followers/0/7"
  /// A release of it, or its dead letter that was sent in again.
  static let second = "notify-followers/0/9"
  static let hour: Int64 = 3_600_000

  let record: RecordStage
  let redis: RedisClient
  /// By Redis' clock, in ms since 1970.
  let now: Int64

  static func run(
    cooldown: Duration = .zero, _ body: @Sendable (ScheduleHarness) async throws -> Void
  ) async throws {
    try await RedisFixture().run { redis async throws in
      var options = RecordOptions()
      options.cooldown = cooldown
      let record = RecordStage(redis: redis, keyspace: keyspace, options: options)
      try await body(
        ScheduleHarness(record: record, redis: redis, now: try await record.time()))
    }
  }

  func event(
    _ id: String, _ sendAt: SendTime?, trace: TraceContext? = nil, appendedAt: Int64 = 0,
    document: String = "the event"
  ) -> Event {
    Event(
      id: id, app: "com.example.live", streamer: "s1", stream: "b1", template: "go-live",
      occurredAt: now, expiresAt: (sendAt?.due.upperBound ?? now) + 900_000, sendAt: sendAt,
      fields: [:], document: Array(document.utf8), trace: trace, appendedAt: appendedAt)
  }

  /// As a worker does with an event that it has read.
  @discardableResult
  func schedule(
    _ event: Event, _ source: String = first, released: String? = nil, replayed: String? = nil
  ) async throws -> ScheduleResult {
    let sendAt = try #require(event.sendAt)
    let result = try await record.schedule(
      event, sendAt, source: source, released: released, replayed: replayed, now: now)
    if case .waits(let due) = result { try await record.enlist(event.id, due: due) }
    return result
  }

  func open(
    _ event: Event, _ source: String, released: String? = nil, replayed: String? = nil
  ) async throws -> OpenResult {
    try await record.open(
      event: event, audience: sharded(2), source: source, replayed: replayed, released: released,
      refusal: try await record.register(event, isRelease: released != nil), claim: nil,
      lifetime: .zero, now: now
    ).result
  }

  /// Notes that a record of the event is in the dead letters.
  func noteDeadLetter(_ event: Event, _ source: String, released: String? = nil) async throws {
    let figures = try await record.noteDeadLetter(
      of: .event, event, code: "unknown_template", source: source, released: released, now: now)
    #expect(figures == nil, "more is to come of it")
  }

  /// The event's time comes.
  func becomesDue(_ id: String = "e1") async throws {
    _ = try await redis.ask("HSET", keyspace.event(id: id), "send_at_ms", String(now - 1))
  }

  func status(_ id: String = "e1") async throws -> FanOutStatus {
    try #require(try await record.status(of: id))
  }

  /// When workers look at the event next, in ms since 1970; nil: never.
  func listed(_ id: String = "e1") async throws -> String? {
    try await redis.ask("ZSCORE", keyspace.statsScheduled, id)
  }

  /// Whether its streamer knows of an event.
  func streamerKnows(_ field: String) async throws -> Bool {
    try await redis.ask("HEXISTS", keyspace.streamer(id: "s1"), field) == "1"
  }
}
