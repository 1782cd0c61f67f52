import Model

/// Makes the spans of one event that is traced: that of its fan-out, from the append of the event's
/// record (or its `send_at`) to the last outcome, and in it those of plans, segments, and the first
/// push. Their ids are hashes of what they are about, so that workers agree on parents without a
/// word, and a span that is made twice is the same. Names are `{operation} {destination}`
/// (OpenTelemetry, "Semantic conventions for messaging spans"; in development when this was
/// written).
package struct FanOutSpans {
  /// Texts of others that a span may carry.
  private static let maximumTextBytes = 256

  private let event: Event
  private let trace: TraceContext

  /// nil for an event that is not traced.
  package init?(of event: Event) {
    guard let trace = event.trace, trace.isSampled else { return nil }
    self.event = event
    self.trace = trace
  }

  // MARK: ids

  /// Never 0, which is no id.
  private func id(_ name: String) -> UInt64 {
    let hash = StableHash.of(
      "\(event.id)/\(name)", trace.traceID.low ^ 0x7137_44CF_B5C0_FBCF,
      trace.traceID.high ^ 0xE9B5_DBA5_8189_DBBC
    ).low
    return hash == 0 ? 1 : hash
  }

  private var fanOutID: UInt64 { id("fan_out") }

  /// Pushes that left a segment were that segment's.
  private func parent(of segment: Segment) -> UInt64 {
    segment.stragglers.map { id("segment/\($0.parent)") } ?? fanOutID
  }

  // MARK: spans

  /// The whole fan-out, whose parent is the producer's span if there is one. It begins with the
  /// append of the event's record; of an event with `send_at`, when that was due, if that is later.
  /// - Parameters:
  ///   - topic: of events.
  ///   - opened: when a worker began it, in ms since 1970; nil: it was never begun.
  ///   - ended: ms since 1970.
  ///   - counts: by the names of the event's hash.
  ///   - failure: what is missing of it, in words.
  package func fanOut(
    topic: String, opened: Int64?, ended: Int64, counts: [(name: String, count: Int)],
    failure: String? = nil
  ) -> Span {
    let wanted = max(event.appendedAt, event.due(ofWave: 0) ?? 0)
    // Clocks differ: it was written, and due, before it was opened.
    let known = [wanted, opened ?? 0].filter { $0 > 0 }
    return Span(
      "fan_out \(topic)", .consumer, of: trace.traceID, id: fanOutID, parent: trace.parentID,
      from: known.min() ?? ended, to: ended,
      messaging("fan_out", "process", topic)
        + [
          Span.Attribute("fanfare.app", text(event.app)),
          Span.Attribute("fanfare.template", text(event.template)),
        ] + attributes(counts),
      failure: failure.map(Self.cut))
  }

  /// From the opening to the moment when the first request was handed to a connection.
  package func firstPush(topic: String, opened: Int64, sent: Int64) -> Span {
    Span(
      "first_push \(topic)", .client, of: trace.traceID, id: id("first_push"), parent: fanOutID,
      from: opened, to: sent, messaging("first_push", "send", topic))
  }

  /// The division of the event, or of what is left of a large one, into segments.
  /// - Parameters:
  ///   - first: the first segment of those that were planned.
  ///   - topic: to which they were written, or from which the event came if it has only one.
  package func plan(
    first: Int, segments: Int, topic: String, from startedAt: Int64, to endedAt: Int64
  ) -> Span {
    Span(
      "plan \(topic)", .producer, of: trace.traceID, id: id("plan/\(first)"), parent: fanOutID,
      from: startedAt, to: endedAt,
      messaging("plan", "create", topic)
        + [Span.Attribute("messaging.batch.message_count", .integer(segments))])
  }

  /// A segment from its claim to its settlement.
  /// - Parameter topic: that its record came from.
  package func segment(
    _ segment: Segment, topic: String, from startedAt: Int64, to endedAt: Int64,
    counts: [(name: String, count: Int)], failure: String? = nil
  ) -> Span {
    Span(
      "segment \(topic)", .consumer, of: trace.traceID, id: id("segment/\(segment.id)"),
      parent: parent(of: segment), from: startedAt, to: endedAt,
      messaging("segment", "process", topic)
        + [Span.Attribute("fanfare.segment.id", text(segment.id))] + attributes(counts),
      failure: failure.map(Self.cut))
  }

  // MARK: attributes

  private func messaging(
    _ operation: String, _ type: String, _ topic: String
  ) -> [Span.Attribute] {
    [
      Span.Attribute("messaging.system", .text("kafka")),
      Span.Attribute("messaging.operation.name", .text(operation)),
      Span.Attribute("messaging.operation.type", .text(type)),
      Span.Attribute("messaging.destination.name", text(topic)),
      Span.Attribute("fanfare.event.id", text(event.id)),
    ]
  }

  private func attributes(_ counts: [(name: String, count: Int)]) -> [Span.Attribute] {
    counts.map { Span.Attribute("fanfare.\($0.name)", .integer($0.count)) }
  }

  private func text(_ text: String) -> Span.Value { .text(Self.cut(text)) }

  private static func cut(_ text: String) -> String {
    text.utf8.count <= maximumTextBytes
      ? text : String(decoding: text.utf8.prefix(maximumTextBytes), as: UTF8.self)
  }
}
