import Ingest
import Kafka
import Model
import Telemetry

extension LogFields {
  /// Fields of a line about an event: its id, the id of its trace if it has one, and `more`.
  static func of(_ event: Event, _ more: LogFields = [:]) -> LogFields {
    of(event.id, event.trace, more)
  }

  static func of(_ event: String, _ trace: TraceContext?, _ more: LogFields = [:]) -> LogFields {
    (["event": .text(event)] as LogFields).merging(traceID(trace)).merging(more)
  }

  /// Of a record that is not decoded: the trace that its headers name.
  static func trace(of message: KafkaMessage) -> LogFields {
    traceID(EventOrigin(ofSegment: message.headers).trace)
  }

  private static func traceID(_ trace: TraceContext?) -> LogFields {
    trace.map { ["trace_id": .text("\($0.traceID)")] } ?? [:]
  }
}
