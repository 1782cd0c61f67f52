extension SettingTable {
  static let rules: [SettingKey] = [
    .bool(
      "rules.muted_streamers", \.rules.mutedStreamers, default: false,
      "Obey a profile's `muted_streamers`: the ids of streamers, one on each line, from whom the "
        + "user wants no pushes."),
    .bool(
      "rules.quiet_hours", \.rules.quietHours, default: false,
      "Obey a profile's `quiet`: hours such as 22:00-07:00 in the profile's `tz`, in which the "
        + "user gets no pushes. These pushes are not sent later either."),
    .text(
      "rules.default_time_zone", \.rules.defaultTimeZone, example: "Europe/Berlin", .timeZone,
      "The time zone of profiles that name none or an unknown one; by default UTC. With quiet "
        + "hours, leaving it unset gives a warning, because people could be woken."),
    .choice(
      "rules.devices", \.rules.devices, default: .all,
      "all: every device of a follower gets the push. newest: only the device of the app that was "
        + "bound last gets it, which takes one more read for each follower."),
    .integer(
      "rules.events_per_hour", \.rules.eventsPerHour, default: 0, 0...1_000,
      "The largest number of events that a follower gets in an hour, on any number of devices; 0 "
        + "means no limit. It takes one more request to Redis for each follower who would get a "
        + "push."),
  ]
}
