/// A token that Apple says is gone, or never was good: what Record may take out of Redis.
package struct TokenVerdict: Sendable, Equatable {
  package enum Finding: Sendable, Equatable {
    /// 410, with Apple's timestamp in ms since 1970: prune unless the binding is younger. 0 where
    /// Apple said none.
    case gone(since: Int64, reason: RejectionReason = .unregistered)
    /// 400 BadDeviceToken or DeviceTokenNotForTopic: set aside, not deleted; a new login binds it
    /// again.
    case unusable(RejectionReason)
  }

  package let user: String
  package let member: String
  package let finding: Finding

  package var environment: APNsEnvironment { Binding.environment(ofMember: member) }

  package init(user: String, member: String, finding: Finding) {
    self.user = user
    self.member = member
    self.finding = finding
  }
}
