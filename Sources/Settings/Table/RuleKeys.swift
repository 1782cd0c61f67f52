extension SettingTable {
  static let rules: [SettingKey] = [
    .bool(
      "rules.muted_streamers", \.rules.mutedStreamers, default: false,
      "A profile's `muted_streamers` counts: ids of streamers, one a line, of whom its owner wants "
        + "to hear nothing."),
    .bool(
      "rules.quiet_hours", \.rules.quietHours, default: false,
      "A profile's `quiet` counts: hours such as 22:00-07:00 in its `tz`, in which its owner gets "
        + "nothing. What is not sent then is not sent later."),
    .text(
      "rules.default_time_zone", \.rules.defaultTimeZone, example: "Europe/Berlin", .timeZone,
      "The time zone of profiles that name none, or one that nobody knows; UTC unless it is set, "
        + "and with quiet hours a warning: people would be woken."),
    .choice(
      "rules.devices", \.rules.devices, default: .all,
      "newest: of a follower's devices for an app only the one bound last gets a push. Reads one "
        + "more key of each follower."),
    .integer(
      "rules.events_per_hour", \.rules.eventsPerHour, default: 0, 0...1_000,
      "How many events a follower gets within an hour, each on however many devices; 0: any "
        + "number. Asks Redis once more for each follower who is to get one."),
  ]
}
