/// Which rule kept a push from its recipient. The raw value is an index, not a contract; `name` is
/// what Redis, metrics and reports hold.
package enum SuppressionRule: UInt8, Sendable, CaseIterable {
  /// The recipient has muted everything, or this streamer.
  case muted
  /// It is one of the recipient's quiet hours.
  case quiet
  /// The recipient got as many pushes as may come in an hour.
  case cap
  /// Another device of the recipient gets it.
  case device

  package var name: String { String(describing: self) }
}
