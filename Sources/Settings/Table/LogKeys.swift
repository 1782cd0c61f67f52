extension SettingTable {
  static let log: [SettingKey] = [
    .choice("log.level", \.log.level, default: .info, "The lowest level that is written."),
    .choice(
      "log.format", \.log.format, default: .auto,
      "The format of the lines. auto means text on a terminal, and JSON lines otherwise."),
  ]
}
