/// The headers that all pushes of one fan-out share.
package struct PushHeaders: Sendable, Equatable {
  package let pushType: PushType
  /// 10, 5 or 1.
  package let priority: Int
  /// Bundle id and the push type's suffix.
  package let topic: String
  /// At most 64 bytes, no control characters; nil: each push stands for itself.
  package let collapseID: String?
  /// Value of `apns-expiration`: seconds since 1970, or 0 for one attempt that Apple does not
  /// store.
  package let expiration: Int64
  /// Ms since 1970; at or after it nothing is sent.
  package let expiresAt: Int64
  /// For browsers: what the template says, else what `priority` means there.
  package let urgency: PushUrgency

  /// Whole seconds for which the push service may keep a push at `now` (ms since 1970), no more
  /// than `longest`; 0: now or never.
  package func secondsLeft(at now: Int64, atMost longest: Int64) -> Int64 {
    guard expiration != 0 else { return 0 }
    return min(max(0, expiresAt - now) / 1000, longest)
  }

  package init(
    pushType: PushType, priority: Int, topic: String, collapseID: String?, expiration: Int64,
    expiresAt: Int64, urgency: PushUrgency? = nil
  ) {
    self.pushType = pushType
    self.priority = priority
    self.topic = topic
    self.collapseID = collapseID
    self.expiration = expiration
    self.expiresAt = expiresAt
    self.urgency = urgency ?? PushUrgency(priority: priority)
  }
}

/// How important a message is to a browser's user: a push service may hold less urgent ones back
/// while a device saves power (RFC 8030, section 5.3).
package enum PushUrgency: String, Sendable, CaseIterable {
  case veryLow = "very-low"
  case low, normal, high

  /// - Parameter priority: Apple's: 10, 5 or 1.
  package init(priority: Int) {
    switch priority {
    case 10...: self = .high
    case 5...: self = .normal
    default: self = .low
    }
  }
}
