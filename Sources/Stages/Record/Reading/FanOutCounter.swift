/// The counters of a fan-out, by their names in the event's hash, the statistics and the log. Of
/// single reasons and rules there is more: `rejected:<Reason>`, `suppressed:<rule>`.
package enum FanOutCounter: String, CaseIterable, Sendable {
  case segments, published, settled, stragglers, waiting
  case deadLettered = "dead_lettered"
  case recipients, pushes
  case accepted, rejected, expired, cancelled, suppressed
  case retried, skipped, unread, pruned, quarantined
  case pruneRefused = "prune_refused"
  case pruneUndated = "prune_undated"
  case pruneWithheld = "prune_withheld"
  case quarantineWithheld = "quarantine_withheld"
  case recordErrors = "record_errors"
  case started = "started_ms"
  case firstPush = "first_push_ms"
  case lastPush = "last_push_ms"
  case done = "done_ms"
  case forgotten = "forgotten_ms"

  /// Every push that was counted has one of these.
  package static let outcomes: [Self] = [.accepted, .rejected, .expired, .cancelled, .suppressed]

  /// The figures of the line "fan-out done": always the first, the others where they are.
  /// `fan_out_end.lua` has these names again, and `event.lua` those that are summarized.
  static let figures: [Self] =
    [.recipients, .pushes] + outcomes + [.retried, .stragglers]
  static let rareFigures: [Self] = [.unread, .deadLettered, .forgotten]
  /// The times beside them where they are, to reckon how long it took. Ms since 1970.
  package static let times: [Self] = [.started, .firstPush, .done]

  /// The fields that the summary in `ff:{stats}:events` takes from the event's hash as they are.
  static let summarized: [Self] =
    [.segments, .stragglers, .deadLettered, .recipients, .pushes]
    + outcomes.filter { $0 != .rejected }
    + [
      .retried, .pruned, .quarantined, .skipped, .unread, .started, .firstPush, .lastPush, .done,
      .forgotten,
    ]
}

/// One counter of a fan-out's hash.
package struct FanOutFigure: Sendable, Equatable {
  package let name: String
  package let count: Int
}
