extension SettingTable {
  static let templates: [SettingKey] = [
    .path(
      "templates.directory", \.templates.directory, default: "templates",
      "Holds one .yaml file for each template, named after it. Next to this file unless absolute.")
  ]
}
