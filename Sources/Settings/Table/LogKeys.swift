extension SettingTable {
  static let log: [SettingKey] = [
    .choice(
      "log.level", \.log.level, default: .info, "The least important lines that are written."),
    .choice(
      "log.format", \.log.format, default: .auto,
      "auto: text on a terminal, JSON lines otherwise."),
  ]
}
