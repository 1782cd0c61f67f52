extension SettingTable {
  static let devices: [SettingKey] = [
    .integer(
      "devices.removal_share", \.devices.removalShare, default: 20, 1...100,
      "Per cent. When more of the last answers for an app in an environment than this call devices "
        + "gone (410), none is removed, and sending goes on. 100: they are always removed."),
    .integer(
      "devices.removal_samples", \.devices.removalSamples, default: 10, 1...10_000,
      "It takes so many answers to say so, of all workers together. Ten times as many, the last "
        + "ones, are looked at."),
    .duration(
      "devices.removal_window", \.devices.removalWindow, default: minutes(10),
      .seconds(10)...minutes(12 * 60),
      "What is older counts half, and half of that when it is twice as old."),
  ]
}
