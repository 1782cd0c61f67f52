import Model
import Text

/// The outcome of a push, or of a user to whom nothing was sent, as a record for the backend's own
/// analytics: one JSON object, `Config/outcome.schema.json`. The key is the user. It names the
/// device by `DeviceMark`, never by its token.
package enum OutcomeRecord {
  /// Of both kinds of record. A member that is new is no new version.
  static let version = 1

  /// - Parameter bytes: those that the report's slices are of.
  package static func encode(
    _ report: OutcomeReports.Report, of event: Event, in bytes: ByteArena
  ) -> (key: [UInt8], value: [UInt8]) {
    let user = bytes.string(report.user)
    var object = RecordObject()
    object.add("type", "push.outcome")
    object.add("version", version)
    object.add("id", HexText.of(report.identifier.high) + HexText.of(report.identifier.low))
    object.add("event", event.id)
    object.add("streamer", event.streamer)
    object.add("app", event.app)
    object.add("user", user)
    if let destination = report.destination {
      object.add("platform", destination.platform.name)
      if let environment = destination.environment { object.add("environment", environment) }
      object.add("device", String(report.device, radix: 36))
    }
    let (outcome, reason) = names(of: report.fate)
    object.add("outcome", outcome)
    if let reason { object.add("reason", reason) }
    object.add("attempts", report.sends)
    object.add("at_ms", report.at)
    if let trace = event.trace { object.add("trace_id", "\(trace.traceID)") }
    return (Array(user.utf8), object.bytes)
  }

  private static func names(of fate: NotedFate) -> (outcome: String, reason: String?) {
    switch fate {
    case .outcome(.rejected(let reason)): ("rejected", reason.name)
    case .outcome(.suppressed(let rule)): ("suppressed", rule.name)
    case .outcome(.accepted), .outcome(.expired), .outcome(.cancelled), .waiting, .skipped:
      (fate.name, nil)
    }
  }
}

/// The outcome of a whole fan-out, as a record on the same topic, when it comes to its end. The key
/// is the event's id.
package struct FanOutSummary: Sendable, Equatable {
  package let event: String
  package let streamer: String
  package let template: String
  /// `done`, `incomplete` or `expired`.
  package let state: String
  /// Of the event's hash, as Redis has them.
  package let numbers: [String: Int]
  /// The event, where it is known.
  package let origin: Event?

  package init(
    event: String, streamer: String, template: String, state: String, numbers: [String: Int],
    origin: Event?
  ) {
    self.event = event
    self.streamer = streamer
    self.template = template
    self.state = state
    self.numbers = numbers
    self.origin = origin
  }

  /// Always there.
  static let counters = [
    "segments", "settled", "stragglers", "dead_lettered", "recipients", "pushes", "accepted",
    "rejected", "expired", "cancelled", "suppressed", "retried", "skipped", "unread", "pruned",
    "quarantined",
  ]
  /// Ms since 1970; where it happened.
  static let times = ["started_ms", "first_push_ms", "last_push_ms", "done_ms"]

  package func encode() -> (key: [UInt8], value: [UInt8]) {
    var object = RecordObject()
    object.add("type", "fanout.ended")
    object.add("version", OutcomeRecord.version)
    // The same however often it is written; another when a dead letter that was sent in again has
    // brought it to another end.
    object.add("id", "\(event)/\(state)/\(numbers["done_ms"] ?? 0)")
    object.add("event", event)
    object.add("streamer", streamer)
    if let origin { object.add("app", origin.app) }
    object.add("template", template)
    object.add("state", state)
    if let origin {
      object.add("occurred_ms", origin.occurredAt)
      if origin.appendedAt > 0 { object.add("appended_ms", origin.appendedAt) }
      object.add("expires_ms", origin.expiresAt)
    }
    for name in Self.times {
      if let time = numbers[name], time > 0 { object.add(name, time) }
    }
    for name in Self.counters { object.add(name, max(0, numbers[name] ?? 0)) }
    object.add("rejections", raw: "[\(rejections.joined(separator: ","))]")
    object.add("suppressions", raw: "[\(suppressions.joined(separator: ","))]")
    if let trace = origin?.trace { object.add("trace_id", "\(trace.traceID)") }
    return (Array(event.utf8), object.bytes)
  }

  /// A reason that several platforms have is theirs together: Redis counts it under its name.
  private var rejections: [String] {
    counts(under: "rejected:").map { name, count in
      var object = RecordObject()
      let platforms = RejectionReason.all.filter { $0.name.utf8.elementsEqual(name.utf8) }
        .map(\.platform)
      if platforms.count == 1, let platform = platforms[0] { object.add("platform", platform) }
      object.add("reason", name)
      object.add("count", count)
      return object.text
    }
  }

  private var suppressions: [String] {
    counts(under: "suppressed:").map { name, count in
      var object = RecordObject()
      object.add("rule", name)
      object.add("count", count)
      return object.text
    }
  }

  private func counts(under prefix: String) -> [(name: String, count: Int)] {
    numbers.filter { $0.key.hasPrefix(prefix) && $0.value > 0 }
      .map { (String($0.key.dropFirst(prefix.count)), $0.value) }.sorted { $0.0 < $1.0 }
  }
}

/// An object as it is written, its members in their order.
private struct RecordObject {
  private var members: [String] = []

  mutating func add(_ name: String, _ value: String) { add(name, raw: JSONString.quoted(value)) }
  mutating func add(_ name: String, _ value: some BinaryInteger) { add(name, raw: "\(value)") }
  mutating func add(_ name: String, raw: String) { members.append("\"\(name)\":\(raw)") }

  var text: String { "{\(members.joined(separator: ","))}" }
  var bytes: [UInt8] { Array(text.utf8) }
}
