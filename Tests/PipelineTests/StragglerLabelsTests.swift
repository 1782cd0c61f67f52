import Deliver
import EventLoop
import Fixtures
import Ingest
import Kafka
import Model
import Render
import Telemetry
import Testing

@testable import Pipeline

/// The headers of a list name the route that its pushes go by, which is more than their app:
/// whoever reads the list asks about that route.
@Suite struct StragglerLabelsTests {
  private static let document = """
    {"id":"e1","app":"a.b","streamer":{"id":"s1"},"stream":{"id":"b1"},"template":"%",\
    "occurred_at":"1970-01-01T00:00:00Z","expires_in":900}
    """

  private static func template(_ type: PushType) -> Template? {
    let place = TemplateSource.Place(line: 1, column: 1)
    func entry(_ key: String, _ value: TemplateSource.Value) -> TemplateSource.Entry {
      .init(key: key, place: place, value: .init(value, place))
    }
    return try? Template.compile(
      TemplateSource(
        name: type.rawValue, file: type.rawValue,
        root: .init(
          .map([
            entry("push_type", .string(type.rawValue)),
            entry("payload", .map([entry("kind", .string("x"))])),
          ]), place)))
  }

  private static func list(_ segment: Segment, _ destinations: [Destination]) -> Segment {
    segment.straggling(
      destinations.enumerated().map { index, destination in
        Straggler(
          user: "u\(index)", member: destination.memberPrefix + "a.b:00ab", history: PushHistory())
      }, number: 1)
  }

  /// A list of an event with this push type, what is written over it, and what somebody reads from
  /// it whose worker wrote no headers.
  private static func labels(
    _ type: PushType, _ destinations: [Destination], knowsTemplate: Bool = true
  ) async throws -> (written: StragglerLabel, read: StragglerLabel) {
    var options = PumpBed.options(KafkaOptions(bootstrapServers: ""), MemorySink())
    options.wallClock = { 1_000 }
    options.straggleDelay = .seconds(1)
    if knowsTemplate { options.templates = [try #require(Self.template(type))] }
    let (ready, topic) = (options, options.ingest.stragglersTopic)
    let text = document.split(separator: "%").joined(separator: type.rawValue)
    return try await EventLoop.temporary("test") {
      (lane: isolated LoopActor, loop: EventLoop) async throws in
      let context = LaneContext(ready, loop)
      let labels = StragglerLabels(context)
      let event = context.ingest.decode(
        KafkaMessage(
          topic: ready.ingest.eventsTopic, partition: 0, offset: 0, key: nil,
          value: Array(text.utf8)), now: 1_000)
      guard case .event(let event) = event else { throw Unreadable() }
      let segment = Segment(event: event, slice: .shard(index: 0, generation: 1), count: 2)
      let straggling = list(segment, destinations)
      let record = KafkaMessage(
        topic: topic, partition: 0, offset: 0, key: nil,
        value: SegmentRecord.encode(straggling).value)
      return (labels.label(for: straggling), labels.complete(of: record))
    }
  }

  private struct Unreadable: Error {}

  /// Those that a payload without `aps` is enough for.
  @Test(arguments: PushType.allCases.filter { template($0) != nil })
  func theTopicOfARouteHasTheSuffixOfItsPushType(_ type: PushType) async throws {
    for destination in Destination.all {
      let (written, read) = try await Self.labels(type, [destination, destination])
      let route = PushRoute(destination: destination, topic: "a.b" + type.topicSuffix)
      #expect(written.route == route && read.route == route)
      #expect(written.expiresAt == 900_000 && read.expiresAt == 900_000)
      #expect(written.writtenAt == 1_000 && written.notBefore == 2_000)
    }
  }

  @Test func someOfThesePushTypesHaveASuffix() {
    let suffixes = Set(PushType.allCases.filter { Self.template($0) != nil }.map(\.topicSuffix))
    #expect(suffixes.isSuperset(of: [".voip", ".complication", ".location-query"]))
  }

  /// A list of both environments goes by two routes, and one of an unknown template by none.
  @Test func aRouteIsNamedWhereThereIsOne() async throws {
    let both = try await Self.labels(.voip, Destination.all)
    #expect(both.written.route == nil && both.read.route?.topic == "a.b.voip")
    let unknown = try await Self.labels(.voip, [.sandbox], knowsTemplate: false)
    #expect(unknown.written.route == nil && unknown.read.route == nil)
    #expect(unknown.read.expiresAt == 900_000)
  }
}
