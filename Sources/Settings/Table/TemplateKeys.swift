extension SettingTable {
  static let templates: [SettingKey] = [
    .path(
      "templates.directory", \.templates.directory, default: "templates",
      "The directory with one .yaml file for each template, which has the template's name. A "
        + "relative path begins at this file."),
    .duration(
      "templates.unknown_wait", \.templates.unknownWait, default: minutes(5), .zero...minutes(60),
      "How long an event waits if this worker does not know its template, but at most until it "
        + "expires: during a rollout, workers get a new template one after the other. Then the "
        + "event goes to the dead letters."),
    .duration(
      "templates.reload_interval", \.templates.reloadInterval, default: .seconds(5),
      .zero...minutes(60),
      "How often a worker and `fanfare api` look for changed templates. A change is used a second "
        + "after it was found. With 0 they look only when they get SIGHUP."),
  ]
}
