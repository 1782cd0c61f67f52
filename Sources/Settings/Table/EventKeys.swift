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
  ]
}
