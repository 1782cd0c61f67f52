import Terminal

/// What is written and counts nowhere, because the rule that would look at it is off.
enum RuleWarnings {
  static func mutes(isRuleOn: Bool, _ invocation: Invocation) {
    guard !isRuleOn else { return }
    invocation.errors.line(
      "note: mutes of streamers count where rules.muted_streamers is on, and here it is off")
  }

  /// - Parameter isKnown: nil where nobody looks at time zones.
  static func timeZone(_ name: String, isKnown: Bool?, _ invocation: Invocation) {
    guard isKnown == false else { return }
    invocation.errors.line(
      TextLayout.printable(
        "note: this system has no time zone \(name), and a worker without it takes "
          + "rules.default_time_zone: it is a name such as Europe/Berlin"))
  }

  static func quiet(isRuleOn: Bool, _ invocation: Invocation) {
    guard !isRuleOn else { return }
    invocation.errors.line(
      "note: quiet hours count where rules.quiet_hours is on, and here it is off")
  }
}
