import Model

/// What the rules say of one recipient.
package struct RuleVerdict: Sendable, Equatable {
  /// Nil: the push may be sent.
  package var suppressedBy: SuppressionRule?
  /// Values that are not what they should be, and count as not set.
  package var malformed = 0
  /// Whether quiet hours were looked at by the fallback's clock because nobody knows the zone.
  package var isZoneUnknown = false

  package init() {}
}
