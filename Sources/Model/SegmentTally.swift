/// A token that Apple says is gone, or never was good: what Record may take out of Redis.
package struct TokenVerdict: Sendable, Equatable {
  package enum Finding: Sendable, Equatable {
    /// 410, with Apple's timestamp in ms since 1970: prune unless the binding is younger.
    case gone(since: Int64)
    /// 400 BadDeviceToken or DeviceTokenNotForTopic: set aside, not deleted; a new login binds it
    /// again.
    case unusable(RejectionReason)
  }

  package let user: String
  package let member: String
  package let finding: Finding

  package init(user: String, member: String, finding: Finding) {
    self.user = user
    self.member = member
    self.finding = finding
  }
}

/// What became of one segment's pushes, counted while they settle on one lane, written once by
/// Record.
package final class SegmentTally {
  package var recipients = 0
  /// Bindings addressed, suppressed ones among them:
  /// `pushes = accepted + rejected + expired + cancelled + suppressed` once the segment settles.
  package var pushes = 0
  package private(set) var accepted = 0
  package private(set) var rejected = [Int](repeating: 0, count: RejectionReason.allCases.count)
  package private(set) var expired = 0
  package private(set) var cancelled = 0
  package private(set) var suppressed = 0
  /// Sends beyond the first of a push.
  package var retried = 0
  /// Users or bindings passed over because Redis held something else than the contract says.
  package var skipped = 0
  /// Ms since 1970 of the first and last request handed to a connection; 0 when there was none.
  package var firstPushAt: Int64 = 0
  package var lastPushAt: Int64 = 0
  package var verdicts: [TokenVerdict] = []

  package init() {}

  package var settled: Int { accepted + rejected.reduce(0, +) + expired + cancelled + suppressed }

  package func count(_ outcome: Outcome, times: Int = 1) {
    switch outcome {
    case .accepted: accepted += times
    case .rejected(let reason): rejected[Int(reason.rawValue)] += times
    case .expired: expired += times
    case .cancelled: cancelled += times
    case .suppressed: suppressed += times
    }
  }

  /// The reasons that occurred, with their counts.
  package var rejections: [(reason: RejectionReason, count: Int)] {
    RejectionReason.allCases.compactMap {
      let count = rejected[Int($0.rawValue)]
      return count == 0 ? nil : ($0, count)
    }
  }
}
