import Devices
import Model
import PushSupport
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

/// `device list`: what a user has.
enum DeviceList {
  static let verb = Verb(
    "list", summary: "Show a user's devices, the one bound last first",
    discussion: "Those that Apple refused, and that therefore get nothing, are set aside.",
    options: [DeviceRows.tokens], arguments: [DeviceFlags.user],
    examples: [
      .init("fanfare device list u1", "For people"),
      .init("fanfare device list u1 --json --tokens", "For a script that unbinds some of them"),
    ], exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let user = try DeviceFlags.user(invocation)
    let devices = try await CommandRegistry.lend(try invocation.loadSettings()) {
      (registry) async throws(DevicesError) in try await registry.devices(of: user)
    }
    let rows = DeviceRows(devices, showsTokens: invocation[DeviceRows.tokens])
    if invocation[DeviceVerb.json] {
      let line: JSONOutput = [
        "user": .text(user), "devices": rows.json, "unreadable": .integer(devices.unreadable),
      ]
      invocation.output.line(line.serialized())
    } else {
      rows.write(of: user, invocation)
    }
    return .ok
  }
}

/// `device bind`: a login, a launch.
enum DeviceBind {
  static let verb = Verb(
    "bind", summary: "Give a device to a user",
    discussion: """
      A token that belonged to another user leaves that one in every app: nobody gets another \
      person's pushes. A device that is bound already gets a younger time, so that an old word of \
      Apple's does not take it out; one that was set aside is taken back. Call it as often as you \
      like.
      """,
    options: [DeviceFlags.token, DeviceFlags.app, DeviceFlags.environment],
    arguments: [DeviceFlags.user],
    examples: [
      .init(
        "fanfare device bind u1 --token '<aabbccdd eeff0011>' --app com.example.live",
        "As the phone printed it"),
      .init(
        "fanfare device bind u1 --token AABBCCDD --app com.example.live --environment sandbox",
        "Of a build from Xcode"),
    ], exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let user = try DeviceFlags.user(invocation)
    let binding = try DeviceFlags.binding(invocation)
    let isNew = try await CommandRegistry.lend(try invocation.loadSettings()) {
      (registry) async throws(DevicesError) in
      try await registry.bind(user: user, binding, at: invocation.nowMilliseconds)
    }
    if invocation[DeviceVerb.json] {
      let line: JSONOutput = ["user": .text(user), "new": .bool(isNew)]
      invocation.output.line(line.serialized())
    } else {
      let words = isNew ? "bound to" : "was bound before, and is registered again with"
      invocation.output.line(TextLayout.printable("\(words) \(user)"))
    }
    return .ok
  }
}

/// `device replace`: Apple gave the device another token.
enum DeviceReplace {
  private static let old = Option(
    required: "old", .text, value: "TOKEN", help: "The token that the device had")

  static let verb = Verb(
    "replace", summary: "Put a device's new token in the place of its old one",
    discussion: """
      In one step: an event finds the old token or the new one, never both and never neither. The \
      new one is bound also where the old one was not there. Both are of the same app and \
      environment.
      """,
    options: [old, DeviceFlags.token, DeviceFlags.app, DeviceFlags.environment],
    arguments: [DeviceFlags.user],
    examples: [
      .init(
        "fanfare device replace u1 --old aabb0011 --token ccdd2233 --app com.example.live",
        "The app sent both")
    ], exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let user = try DeviceFlags.user(invocation)
    let former = try DeviceFlags.binding(invocation, token: old)
    let binding = try DeviceFlags.binding(invocation)
    let wasThere = try await CommandRegistry.lend(try invocation.loadSettings()) {
      (registry) async throws(DevicesError) in
      try await registry.replace(
        user: user, former, with: binding, at: invocation.nowMilliseconds)
    }
    if invocation[DeviceVerb.json] {
      let line: JSONOutput = ["user": .text(user), "replaced": .bool(wasThere)]
      invocation.output.line(line.serialized())
    } else {
      let words = wasThere ? "replaced, of" : "the old one was not there, the new one is bound to"
      invocation.output.line(TextLayout.printable("\(words) \(user)"))
    }
    return .ok
  }
}

/// `device unbind`: a logout.
enum DeviceUnbind {
  private static let app = Option<String?>(
    "app", .text, value: "TOPIC", help: "In this app only; in every one unless given")
  private static let environment = Option<EnvironmentChoice?>(
    "environment", .choice(), help: "In this environment only; in both unless given")

  static let verb = Verb(
    "unbind", summary: "Take a device from a user",
    discussion: """
      Nothing more is sent to it for this user. A token that another user has bound since stays \
      that user's: a logout that comes late takes nothing from anybody.
      """,
    options: [DeviceFlags.token, app, environment], arguments: [DeviceFlags.user],
    examples: [.init("fanfare device unbind u1 --token aabbccddeeff0011", "A logout")],
    exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let user = try DeviceFlags.user(invocation)
    let (token, topic) = try DeviceFlags.checked { () throws(GivenRefusal) in
      (
        try Given.token(invocation[DeviceFlags.token], as: "--token"),
        try invocation[app].map { (text) throws(GivenRefusal) in
          try Given.topic(text, as: "--app")
        }
      )
    }
    let place = invocation[environment]?.model
    let removed = try await CommandRegistry.lend(try invocation.loadSettings()) {
      (registry) async throws(DevicesError) in
      try await registry.unbind(
        user: user, token: token, topic: topic, environment: place)
    }
    if invocation[DeviceVerb.json] {
      let line: JSONOutput = ["user": .text(user), "removed": .integer(removed)]
      invocation.output.line(line.serialized())
    } else if removed == 0 {
      invocation.errors.line(TextLayout.printable("was not bound to \(user)"))
    } else {
      invocation.output.line(TextLayout.printable("taken from \(user)"))
    }
    return .ok
  }
}
