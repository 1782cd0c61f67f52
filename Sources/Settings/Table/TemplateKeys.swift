extension SettingTable {
  static let templates: [SettingKey] = [
    .path(
      "templates.directory", \.templates.directory, default: "templates",
      "Holds one .yaml file for each template, named after it. Next to this file unless absolute."),
    .duration(
      "templates.unknown_wait", \.templates.unknownWait, default: minutes(5), .zero...minutes(60),
      "An event whose template this worker has not loaded rests so long, and no longer than it "
        + "lives: new templates come with new workers, one after the other. Then it goes to the "
        + "dead letters."),
  ]
}
