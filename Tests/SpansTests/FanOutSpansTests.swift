import JSON
import Model
import Spans
import Testing

@Suite struct FanOutSpansTests {
  static let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  static func event(
    _ trace: TraceContext? = TraceContext(traceparent: traceparent.utf8), id: String = "e1",
    sendAt: SendTime? = nil
  ) -> Event {
    Event(
      id: id, app: "com.example.live", streamer: "s1", stream: "b1", template: "go-live",
      occurredAt: 1_000, expiresAt: 9_000, sendAt: sendAt, fields: [:], document: [], trace: trace,
      appendedAt: 1_100)
  }

  static func spans(_ event: Event = event()) throws -> FanOutSpans {
    try #require(FanOutSpans(of: event))
  }

  static func fanOut(_ spans: FanOutSpans, failure: String? = nil) -> Span {
    spans.fanOut(
      topic: "notify-followers", opened: 1_200, ended: 3_000, counts: [("accepted", 7)],
      failure: failure)
  }

  @Test func spansFormOneTreeBelowTheProducersSpan() throws {
    // Each by another worker, who reads the event itself.
    let whole = Self.fanOut(try Self.spans())
    #expect(whole.parentID == 0x00f0_67aa_0ba9_02b7 && whole.startedAt == 1_100)
    let plan = try Self.spans().plan(first: 0, segments: 2, topic: "t", from: 1_200, to: 1_300)
    let first = try Self.spans().firstPush(topic: "t", opened: 1_200, sent: 1_500)
    let parent = Segment(event: Self.event(), slice: .shard(index: 1, generation: 3), count: 2)
    let segment = try Self.spans().segment(parent, topic: "t", from: 1_400, to: 2_000, counts: [])
    let left = parent.straggling(
      [Straggler(user: "u1", member: "p:a:b", history: PushHistory())], number: 5)
    let late = try Self.spans().segment(left, topic: "t", from: 2_100, to: 2_200, counts: [])
    for child in [plan, first, segment] { #expect(child.parentID == whole.id) }
    #expect(late.parentID == segment.id)
    let all = [whole, plan, first, segment, late]
    #expect(Set(all.map(\.id)).count == all.count)
    #expect(all.allSatisfy { $0.traceID == whole.traceID })
  }

  @Test func anEventWithoutASampledTraceHasNone() {
    #expect(FanOutSpans(of: Self.event(nil)) == nil)
    #expect(FanOutSpans(of: Self.event(TraceContext(ofEvent: "e1", share: 0))) == nil)
    let unsampled = Self.traceparent.dropLast(2) + "00"
    #expect(FanOutSpans(of: Self.event(TraceContext(traceparent: unsampled.utf8))) == nil)
  }

  /// The days for which it waits are nobody's latency.
  @Test(arguments: [(SendTime.at(1_150), Int64(1_150)), (.at(900), 1_100)])
  func theFanOutOfAScheduledEventBeginsWhenItWasDue(sendAt: SendTime, start: Int64) throws {
    #expect(Self.fanOut(try Self.spans(Self.event(sendAt: sendAt))).startedAt == start)
  }

  @Test func aTraceThatBeginsHereHasARoot() throws {
    let root = TraceContext(ofEvent: "e1", share: 1)
    #expect(Self.fanOut(try Self.spans(Self.event(root))).parentID == nil)
    let other = Self.fanOut(try Self.spans(Self.event(root, id: "e2")))
    #expect(other.id != Self.fanOut(try Self.spans(Self.event(root))).id)
  }

  /// Clocks differ.
  @Test func noSpanEndsBeforeItBegins() throws {
    let span = try Self.spans().firstPush(topic: "t", opened: 2_000, sent: 1_000)
    #expect(span.startedAt == 2_000 && span.endedAt == 2_000)
  }

  @Test func textsAreBoundedAndNameNobody() throws {
    let long = String(repeating: "x", count: 10_000)
    let segment = Segment(event: Self.event(), slice: .plain(key: "follows:s1"), count: 1)
    let span = try Self.spans().segment(
      segment, topic: "t", from: 1, to: 2, counts: [], failure: long)
    #expect(span.failure?.utf8.count == 256)
    let document = OTLPDocument(attributes: [], version: "1").text(of: [span])
    #expect(!document.contains("\"s1\"") && !document.contains("follows"))
  }

  @Test func aDocumentIsAsOTLPHasIt() throws {
    let document = OTLPDocument(
      attributes: [Span.Attribute("service.name", .text("fan\"fare"))], version: "1.2")
    let id = HexText.of(Self.fanOut(try Self.spans()).id)
    let text = document.text(of: [Self.fanOut(try Self.spans(), failure: "lost")])
    #expect(
      text
        == #"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","#
        + #""value":{"stringValue":"fan\"fare"}}]},"scopeSpans":[{"scope":{"name":"fanfare","#
        + #""version":"1.2"},"spans":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","#
        + #""spanId":"\#(id)","parentSpanId":"00f067aa0ba902b7","#
        + #""name":"fan_out notify-followers","kind":5,"startTimeUnixNano":"1100000000","#
        + #""endTimeUnixNano":"3000000000","attributes":["#
        + #"{"key":"messaging.system","value":{"stringValue":"kafka"}},"#
        + #"{"key":"messaging.operation.name","value":{"stringValue":"fan_out"}},"#
        + #"{"key":"messaging.operation.type","value":{"stringValue":"process"}},"#
        + #"{"key":"messaging.destination.name","value":{"stringValue":"notify-followers"}},"#
        + #"{"key":"fanfare.event.id","value":{"stringValue":"e1"}},"#
        + #"{"key":"fanfare.app","value":{"stringValue":"com.example.live"}},"#
        + #"{"key":"fanfare.template","value":{"stringValue":"go-live"}},"#
        + #"{"key":"fanfare.accepted","value":{"intValue":"7"}}],"#
        + #""status":{"code":2,"message":"lost"}}]}]}]}"#)
  }

  @Test func rootsAndSuccessesLeaveMembersOut() throws {
    let spans = try Self.spans(Self.event(TraceContext(ofEvent: "e1", share: 1)))
    let text = OTLPDocument(attributes: [], version: "1").text(of: [Self.fanOut(spans)])
    let parsed = try JSONValue.parse(Array(text.utf8), maximumDepth: 16)
    #expect(parsed.object?["resourceSpans"]?.array?.count == 1)
    #expect(!text.contains("parentSpanId") && !text.contains("status"))
  }
}
