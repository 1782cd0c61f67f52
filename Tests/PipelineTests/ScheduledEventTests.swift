import EventLoop
import Fixtures
import Ingest
import Kafka
import Model
import Redis
import Render
import Testing

@testable import Pipeline

/// A lane's way with scheduled events: one whose template it loads after it has read the event, and
/// one that was put off behind its release.
@Suite struct ScheduledEventTests {
  private static func template() throws -> Template {
    let place = TemplateSource.Place(line: 1, column: 1)
    func map(_ key: String, _ value: TemplateSource.Value) -> TemplateSource.Value {
      .map([.init(key: key, place: place, value: .init(value, place))])
    }
    let payload = map("payload", map("aps", map("alert", .string("x"))))
    return try Template.compile(
      TemplateSource(name: "go-live", file: "go-live.yaml", root: .init(payload, place)))
  }

  private static func event(_ sendAt: SendTime, now: Int64) -> Event {
    Event(
      id: "e1", app: "com.example.live", streamer: "s1", stream: "b1", template: "go-live",
      occurredAt: now, expiresAt: sendAt.due.upperBound + 900_000, sendAt: sendAt, fields: [:],
      document: Array("{}".utf8))
  }

  private static func message(_ offset: Int64, _ headers: [KafkaHeader] = []) -> KafkaMessage {
    KafkaMessage(
      topic: PumpBed.topic, partition: 0, offset: offset, key: nil, value: [], headers: headers)
  }

  /// Its entry would take the place of another record that waits for its template.
  @Test func itsRecordRestsNoMoreOnceItIsScheduled() async throws {
    let fixture = try RedisFixture()
    let template = try Self.template()
    try await EventLoop.temporary("test") {
      (_: isolated LoopActor, loop: EventLoop) async throws in
      var options = PumpBed.options(.init(bootstrapServers: ""), MemorySink())
      options.redis = RedisOptions(port: fixture.server.port)
      options.templateWait = .seconds(600)
      let lane = LaneContext(options, loop)
      lane.redis.start()
      defer { lane.redis.close() }
      let fanOuts = FanOutRunner(
        lane, SegmentRunner(lane, clock: ClockWatch(lane)), Schedule(lane))
      let sendAt = SendTime.at(lane.now + 3_600_000)
      let event = Self.event(sendAt, now: lane.now)
      let message = Self.message(7)
      let first = try await fanOuts.run(event, from: message, LaneSlot {})
      #expect(first == .again(after: .seconds(5)) && options.templateWaits.rests(message))
      lane.render = RenderStage(templates: [template])
      let second = try await fanOuts.run(event, from: message, LaneSlot {})
      #expect(second == .done && !options.templateWaits.rests(message))
    }
  }

  /// It was scheduled before, and is counted as one event.
  @Test func aReleaseThatWasPutOffIsNotCounted() async throws {
    let fixture = try RedisFixture()
    try await EventLoop.temporary("test") {
      (_: isolated LoopActor, loop: EventLoop) async throws in
      var options = PumpBed.options(.init(bootstrapServers: ""), MemorySink())
      options.redis = RedisOptions(port: fixture.server.port)
      let lane = LaneContext(options, loop)
      lane.redis.start()
      defer { lane.redis.close() }
      let schedule = Schedule(lane)
      // In 2096: Redis' clock is the real one, the lane's is not.
      let sendAt = SendTime.at(4_000_000_000_000)
      let event = Self.event(sendAt, now: lane.now)
      let message = Self.message(7)
      #expect(try await schedule.take(event, sendAt, from: message) == .waits)
      let release = Self.message(9, ReleaseRecord.headers(source: message.place))
      #expect(try await schedule.take(event, sendAt, from: release) == .waits)
      #expect(lane.counters.snapshot()[.eventsScheduled] == 1)
    }
  }
}
