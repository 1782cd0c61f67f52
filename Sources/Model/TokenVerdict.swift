/// A token that Apple says is gone, or never was good: what Record may take out of Redis.
package struct TokenVerdict: Sendable, Equatable {
  package enum Finding: Sendable, Equatable {
    /// With the platform's timestamp in ms since 1970: prune unless the binding is younger. 0 where
    /// it said none.
    case gone(since: Int64, reason: RejectionReason)
    /// None, or not for this app or environment: set aside, not deleted; a new login binds it
    /// again.
    case unusable(RejectionReason)

    package var isUnusable: Bool { if case .unusable = self { true } else { false } }
  }

  package let user: String
  package let member: String
  package let finding: Finding

  package var destination: Destination { Destination(ofMember: member) ?? .production }

  package init(user: String, member: String, finding: Finding) {
    self.user = user
    self.member = member
    self.finding = finding
  }
}

/// The permission to write the first verdicts of a tally. It is decided once: a call that is
/// repeated after a transient error neither reports their answers again nor withholds what it has
/// begun to write.
package struct VerdictAdmission: Sendable, Equatable {
  /// Whether the devices of one environment that are gone may be removed.
  package struct Question: Sendable, Equatable {
    package let destination: Destination
    package let removals: Int
    /// To report with them, these among them.
    package let answers: Int

    package init(_ destination: Destination, removals: Int, answers: Int) {
      self.destination = destination
      self.removals = removals
      self.answers = answers
    }
  }

  /// Verdicts that it decides, from the tally's first.
  package let count: Int
  /// Those that may be written and are not yet.
  package private(set) var verdicts: [TokenVerdict]
  package private(set) var withheldUnusable = 0
  package private(set) var withheldGone = 0
  /// Still to be asked of Redis.
  package private(set) var questions: [Question]

  package init(
    _ verdicts: [TokenVerdict], questions: [Question], mayQuarantine: (TokenVerdict) -> Bool
  ) {
    count = verdicts.count
    self.questions = questions
    self.verdicts = verdicts.filter { !$0.finding.isUnusable || mayQuarantine($0) }
    withheldUnusable = count - self.verdicts.count
  }

  /// The first of them are written.
  package mutating func wrote(_ count: Int) { verdicts.removeFirst(count) }

  /// Redis' answer to the last question.
  package mutating func answer(mayRemove: Bool) {
    let destination = questions.removeLast().destination
    guard !mayRemove else { return }
    let all = verdicts.count
    verdicts.removeAll { !$0.finding.isUnusable && $0.destination == destination }
    withheldGone += all - verdicts.count
  }
}
