import Terminal
import VerbSupport

enum DeviceVerb {
  static let json = Option(flag: "json", help: "Print the summary as one JSON object")

  static let verb = Verb(
    group: "device", summary: "Look after the devices that Redis holds",
    discussion: "No device token is ever printed.",
    options: [json] + ConfigurationOptions.all,
    verbs: [DeviceRestore.verb],
    examples: [
      .init(
        "fanfare device restore --environment production",
        "What was set aside, and would be given back")
    ])
}
