extension SettingTable {
  static let events: [SettingKey] = [
    .duration(
      "events.default_expires_in", \.events.defaultExpiresIn, default: minutes(15),
      .seconds(1)...minutes(30 * 24 * 60),
      "For events that do not say `expires_in`, from `occurred_at`. Past it nothing is sent."),
    .duration(
      "events.maximum_expires_in", \.events.maximumExpiresIn, default: minutes(30 * 24 * 60),
      .seconds(1)...minutes(30 * 24 * 60),
      "An event that asks for more is malformed. Apple stores a push for 30 d at most."),
    .duration(
      "events.cooldown", \.events.cooldown, default: .zero, .zero...minutes(24 * 60),
      "For so long after an event of a streamer, another one of the same app and template is not "
        + "sent: streams drop and come back. 0: each event is sent."),
    .choice(
      "events.trace", \.events.trace, default: .failures,
      "Of which pushes Redis keeps for 7 d what became of them, for `fanfare trace`. failures: of "
        + "all that Apple did not accept; all: of every one; none: of none."),
    .integer(
      "events.trace_maximum", \.events.traceMaximum, default: 100_000, 0...10_000_000,
      "Of so many pushes of an event at most, at some 50 to 120 bytes in Redis each; the others "
        + "are only counted."),
  ]
}
