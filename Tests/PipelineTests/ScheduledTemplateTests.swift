import EventLoop
import Fixtures
import Kafka
import Model
import Redis
import Render
import Testing

@testable import Pipeline

/// A scheduled event whose template a worker loads after it has read the event.
@Suite struct ScheduledTemplateTests {
  private static func template() throws -> Template {
    let place = TemplateSource.Place(line: 1, column: 1)
    func map(_ key: String, _ value: TemplateSource.Value) -> TemplateSource.Value {
      .map([.init(key: key, place: place, value: .init(value, place))])
    }
    let payload = map("payload", map("aps", map("alert", .string("x"))))
    return try Template.compile(
      TemplateSource(name: "go-live", file: "go-live.yaml", root: .init(payload, place)))
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
      let event = Event(
        id: "e1", app: "com.example.live", streamer: "s1", stream: "b1", template: "go-live",
        occurredAt: lane.now, expiresAt: sendAt.due.upperBound + 900_000, sendAt: sendAt,
        fields: [:], document: Array("{}".utf8))
      let message = KafkaMessage(
        topic: PumpBed.topic, partition: 0, offset: 7, key: nil, value: [], timestamp: 0)
      let first = try await fanOuts.run(event, from: message, LaneSlot {})
      #expect(first == .again(after: .seconds(5)) && options.templateWaits.rests(message))
      lane.render = RenderStage(templates: [template])
      let second = try await fanOuts.run(event, from: message, LaneSlot {})
      #expect(second == .done && !options.templateWaits.rests(message))
    }
  }
}
