import JSON
import Kafka
import Model
import Text

/// The facts about an event beside its document: the trace that its producer began, and when it
/// was written to Kafka. It travels in the headers of every record of the event. Workers that know
/// no such headers pass them over, and a `traceparent` that is invalid is as good as absent: no
/// push depends on either.
package struct EventOrigin: Sendable, Equatable {
  private static let traceHeader = "traceparent"
  package static let appendedHeader = "fanfare-appended"

  /// nil: the producer began none.
  package var trace: TraceContext?
  /// Ms since 1970; 0: nobody knows.
  package var appendedAt: Int64 = 0

  package init() {}

  /// As Redis keeps it of a scheduled event.
  /// - Parameters:
  ///   - traceparent: what is invalid is as good as absent.
  ///   - appendedAt: ms since 1970; what is no time is as good as absent.
  package init(traceparent: String, appendedAt: Int64) {
    trace = TraceContext(traceparent: traceparent.utf8)
    self.appendedAt = Self.known(appendedAt) ?? 0
  }

  package init(of event: Event) {
    trace = event.trace
    appendedAt = event.appendedAt
  }

  /// Of a record that the live backend wrote. Its header goes before the extension of CloudEvents
  /// of the same name ("Distributed Tracing"): who forwards an event has a span of its own.
  init(ofEvent message: KafkaMessage, _ value: JSONValue) {
    trace =
      Self.trace(in: message.headers, Self.traceHeader)
      ?? Self.trace(in: message.headers, "ce_" + Self.traceHeader)
    if trace == nil, let envelope = value.object, envelope["specversion"] != nil {
      trace = envelope[Self.traceHeader]?.string.flatMap { TraceContext(traceparent: $0.utf8) }
    }
    appendedAt = Self.known(message.timestamp) ?? 0
    // A worker wrote it, when the event was due.
    if ReleaseRecord.source(of: message) != nil {
      appendedAt = Self.appended(in: message.headers) ?? appendedAt
    }
  }

  /// Of a record that a worker wrote.
  package init(ofSegment headers: [KafkaHeader]) {
    trace = Self.trace(in: headers, Self.traceHeader)
    appendedAt = Self.appended(in: headers) ?? 0
  }

  private static func appended(in headers: [KafkaHeader]) -> Int64? {
    headers.last { $0.name == appendedHeader }?.value.flatMap(StragglerLabel.time).flatMap(known)
  }

  /// Nil for what is no time.
  private static func known(_ time: Int64) -> Int64? {
    time > 0 && Timestamp.range.contains(time) ? time : nil
  }

  /// The last of several counts, as OpenTelemetry reads them.
  private static func trace(in headers: [KafkaHeader], _ name: String) -> TraceContext? {
    headers.last { $0.name == name }?.value.flatMap { TraceContext(traceparent: $0) }
  }

  package var headers: [KafkaHeader] {
    let known = trace?.traceparent.map { [KafkaHeader(Self.traceHeader, $0)] } ?? []
    return known
      + (appendedAt > 0 ? [KafkaHeader(Self.appendedHeader, String(appendedAt))] : [])
  }

  func trace(of event: String, rootShare: Double?) -> TraceContext? {
    trace ?? rootShare.map { TraceContext(ofEvent: event, share: $0) }
  }
}
