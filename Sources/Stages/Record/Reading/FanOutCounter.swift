/// What is counted of a fan-out, by its name in the event's hash, the statistics and the log. Of
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

  /// What "fan-out done" says: always the first, the others where they are. `fan_out_end.lua` has
  /// these names again, and `event.lua` those that are summarized.
  static let figures: [Self] =
    [.recipients, .pushes] + outcomes + [.retried, .stragglers]
  static let rareFigures: [Self] = [.unread, .deadLettered, .forgotten]
  /// What comes with them where it is, for whoever reckons how long it took. Ms since 1970.
  package static let times: [Self] = [.started, .firstPush, .done]

  /// What the summary in `ff:{stats}:events` takes from the event's hash as it is.
  static let summarized: [Self] =
    [.segments, .stragglers, .deadLettered, .recipients, .pushes]
    + outcomes.filter { $0 != .rejected }
    + [
      .retried, .pruned, .quarantined, .skipped, .unread, .started, .firstPush, .lastPush, .done,
      .forgotten,
    ]
}
