import Terminal
import VerbSupport

package enum DeviceVerb {
  static let json = Option(flag: "json", help: "Print the summary as one JSON object")

  package static let verb = Verb(
    group: "device", summary: "Bind devices to users, and look after those that Redis holds",
    discussion: """
      A device is a token of an app in one of Apple's environments. Bind it at every launch and \
      every login, unbind it at a logout: a token belongs to one user, so who binds it takes it \
      from whoever had it. Tokens are taken as phones print them and kept in lower-case hex. None \
      is ever printed, but where --tokens asks for it.
      """,
    options: [json] + ConfigurationOptions.all,
    verbs: [
      DeviceBind.verb, DeviceUnbind.verb, DeviceReplace.verb, DeviceList.verb, DeviceRestore.verb,
    ],
    examples: [
      .init(
        "fanfare device bind u1 --token '<aabbccdd eeff0011>' --app com.example.live", "A login"),
      .init("fanfare device list u1", "What u1 has"),
      .init(
        "fanfare device restore --environment production",
        "What was set aside, and would be given back"),
    ])
}
