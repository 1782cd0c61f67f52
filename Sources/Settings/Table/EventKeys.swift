extension SettingTable {
  static let events: [SettingKey] = [
    .duration(
      "events.default_expires_in", \.events.defaultExpiresIn, default: minutes(15),
      .seconds(1)...minutes(30 * 24 * 60),
      "The lifetime of events without `expires_in`, from `send_at` or else `occurred_at`. Nothing "
        + "is sent after it."),
    .duration(
      "events.maximum_expires_in", \.events.maximumExpiresIn, default: minutes(30 * 24 * 60),
      .seconds(1)...minutes(30 * 24 * 60),
      "The longest lifetime. An event that asks for more is malformed. Apple stores a push for at "
        + "most 30 d."),
    .duration(
      "events.maximum_send_ahead", \.events.maximumSendAhead, default: minutes(7 * 24 * 60),
      minutes(1)...minutes(30 * 24 * 60),
      "How far ahead `send_at` may be. An event that asks for more is malformed. Redis keeps such "
        + "events, up to 10,000 of them."),
    .duration(
      "events.cooldown", \.events.cooldown, default: .zero, .zero...minutes(24 * 60),
      "For this long after a streamer's event, another one of the same app and template is not "
        + "sent, because streams drop and come back. 0 means that each event is sent."),
    .choice(
      "events.trace", \.events.trace, default: .failures,
      "Which outcomes of pushes Redis keeps for `fanfare trace`, for 7 d. failures: those of "
        + "pushes that Apple did not accept; all: those of every push; none: no outcomes."),
    .integer(
      "events.trace_maximum", \.events.traceMaximum, default: 100_000, 0...10_000_000,
      "The largest number of outcomes to keep of an event. Each takes some 50 to 120 bytes in "
        + "Redis. Further ones are only counted."),
  ]
}
