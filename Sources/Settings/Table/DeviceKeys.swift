extension SettingTable {
  static let devices: [SettingKey] = [
    .integer(
      "devices.removal_share", \.devices.removalShare, default: 20, 1...100,
      "A limit in per cent. If a larger share of the last answers for an app in an environment are "
        + "410s (the device is gone), no device is removed, and sending goes on. With 100, devices "
        + "are always removed."),
    .integer(
      "devices.removal_samples", \.devices.removalSamples, default: 10, 1...10_000,
      "How many answers, of all workers together, are needed to judge that share. It is taken over "
        + "the last answers, ten times this number."),
    .duration(
      "devices.removal_window", \.devices.removalWindow, default: minutes(10),
      .seconds(10)...minutes(12 * 60),
      "Answers that are older than this count half, and those that are twice as old a quarter."),
  ]
}
