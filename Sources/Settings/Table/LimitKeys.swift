extension SettingTable {
  static let limits: [SettingKey] = [
    .integer(
      "limits.event", \.limits.event, default: 0, 0...PushLimitRule.maximum,
      "Pushes a second of each event; one that says `pushes_per_second` itself may have fewer. "
        + "0: no limit."),
    .map(
      "limits.apps", \.limits.apps, PushLimitRule.complaint,
      "Pushes a second of all events of an app, by bundle id: {com.example.app: 20000}."),
  ]
}
