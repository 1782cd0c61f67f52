import Ingest
import Kafka
import Model
import Testing

/// The trace and the time of an event, beside its document.
@Suite struct EventOriginTests {
  private static let first = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
  private static let second = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"

  private func event(
    _ headers: [KafkaHeader], _ text: String = sampleText, timestamp: Int64 = 0,
    rootShare: Double? = nil
  ) throws -> Event {
    var options = IngestOptions()
    options.rootTraceShare = rootShare
    let message = KafkaMessage(
      topic: options.eventsTopic, partition: 0, offset: 0, key: nil, value: Array(text.utf8),
      timestamp: timestamp, headers: headers)
    return try #require(IngestStage(options: options).decode(message, now: sampleTime).event)
  }

  @Test func theLastHeaderGoesBeforeTheExtensionOfCloudEvents() throws {
    let extended = KafkaHeader("ce_traceparent", Self.second)
    #expect(try event([extended]).trace?.traceparent == Self.second)
    let both = [KafkaHeader("traceparent", Self.second), KafkaHeader("traceparent", Self.first)]
    #expect(try event(both + [extended]).trace?.traceparent == Self.first)
  }

  @Test func anEnvelopeHasItToo() throws {
    let envelope =
      #"{"specversion":"1.0","id":"ce-1","source":"/live","type":"stream.live","#
      + #""traceparent":"\#(Self.first)","data":\#(sampleText)}"#
    #expect(try event([], envelope).trace?.traceparent == Self.first)
  }

  /// No push depends on it.
  @Test func anInvalidOneIsAsGoodAsAbsent() throws {
    for value in ["", "nonsense", Self.first + "x"] {
      #expect(try event([KafkaHeader("traceparent", value)]).trace == nil)
    }
    let bytes = KafkaHeader(name: "traceparent", value: [0xFF, 0x00])
    #expect(try event([bytes, KafkaHeader(name: "traceparent", value: nil)]).trace == nil)
  }

  @Test func withoutOneTheTraceBeginsHereWhereTracesAreWanted() throws {
    #expect(try event([]).trace == nil)
    let root = try #require(try event([], rootShare: 1).trace)
    #expect(root.isSampled && root.parentID == nil)
    let told = try event([KafkaHeader("traceparent", Self.second)], rootShare: 1).trace
    #expect(told?.traceparent == Self.second && told?.isSampled == false)
  }

  @Test func recordsOfWorkersHaveWhatTheEventHad() throws {
    let event = try event([KafkaHeader("traceparent", Self.first)], timestamp: 1_795_248_001_000)
    #expect(event.appendedAt == 1_795_248_001_000)
    let segment = Segment(event: event, slice: .shard(index: 0, generation: 1), count: 2)
    let headers = EventOrigin(of: event).headers
    let record = KafkaMessage(
      topic: IngestOptions().segmentsTopic, partition: 0, offset: 0, key: nil,
      value: SegmentRecord.encode(segment).value, timestamp: 5, headers: headers)
    let read = try #require(decode(record).segment?.event)
    #expect(read.trace == event.trace && read.appendedAt == event.appendedAt)
    // Also what rests in between.
    let label = StragglerLabel(record)
    #expect(EventOrigin(ofSegment: label.headers) == EventOrigin(of: event))
  }

  @Test func aTimeThatIsNoneIsNotKept() {
    for text in ["", "-1", "soon", "99999999999999999999", "999999999999999999"] {
      let origin = EventOrigin(ofSegment: [KafkaHeader("fanfare-appended", text)])
      #expect(origin == EventOrigin() && origin.headers.isEmpty)
    }
  }
}
