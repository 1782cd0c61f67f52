import Terminal

/// What is written and counts nowhere, because the rule that would look at it is off.
enum RuleWarnings {
  static func mutes(isRuleOn: Bool, _ invocation: Invocation) {
    guard !isRuleOn else { return }
    invocation.errors.line(
      "note: mutes of streamers count where rules.muted_streamers is on, and here it is off")
  }

  static func quiet(isRuleOn: Bool, _ invocation: Invocation) {
    guard !isRuleOn else { return }
    invocation.errors.line(
      "note: quiet hours count where rules.quiet_hours is on, and here it is off")
  }
}
