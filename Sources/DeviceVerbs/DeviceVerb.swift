import Devices
import Model
import PushSupport
import Terminal
import VerbSupport

package enum DeviceVerb {
  static let json = Option(flag: "json", help: "Print the summary as one JSON object")

  package static let verb = Verb(
    group: "device", summary: "Bind, unbind, replace, list and restore devices",
    discussion: """
      A device is a token of an app in one of Apple's environments. Bind it at every launch and \
      every login, and unbind it at logout. A token belongs to one user: binding it takes it from \
      its former user. Tokens are accepted as phones print them, and stored in lower-case hex. \
      They are printed only with --tokens.
      """,
    options: [json] + ConfigurationOptions.all,
    verbs: [
      DeviceBind.verb, DeviceUnbind.verb, DeviceReplace.verb, DeviceList.verb, DeviceRestore.verb,
    ],
    examples: [
      .init(
        "fanfare device bind u1 --token '<aabbccdd eeff0011>' --app com.example.live",
        "Bind a device at login"),
      .init("fanfare device list u1", "List the devices of u1"),
      .init(
        "fanfare device restore --environment production",
        "Show which devices were set aside and would be restored"),
    ])
}

/// `device list`: what a user has.
enum DeviceList {
  static let verb = Verb(
    "list", summary: "List a user's devices, the latest binding first",
    discussion: "Devices that Apple refused are shown as set aside: they get no pushes.",
    options: [DeviceRows.tokens], arguments: [DeviceFlags.user],
    examples: [
      .init("fanfare device list u1", "List the devices as text"),
      .init("fanfare device list u1 --json --tokens", "Print JSON with the tokens, for a script"),
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
    "bind", summary: "Bind a device to a user",
    discussion: """
      A token that belonged to another user is unbound from that user in every app, so nobody gets \
      another person's pushes. Binding a device again renews the binding's time, so that an older \
      410 from Apple does not remove it. A device that was set aside is restored. You can repeat \
      the command as often as you like.
      """,
    options: [
      DeviceFlags.token, DeviceFlags.app, DeviceFlags.platform, DeviceFlags.environment,
      DeviceFlags.p256dh, DeviceFlags.auth, DeviceFlags.vapidKey,
    ],
    arguments: [DeviceFlags.user],
    examples: [
      .init(
        "fanfare device bind u1 --token '<aabbccdd eeff0011>' --app com.example.live",
        "Bind a token as the phone printed it"),
      .init(
        "fanfare device bind u1 --token AABBCCDD --app com.example.live --environment sandbox",
        "Bind the token of a build from Xcode"),
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
    required: "old", .text, value: "TOKEN", help: "The device's old token")

  static let verb = Verb(
    "replace", summary: "Replace a device's old token with its new one",
    discussion: """
      The change is one step: an event finds the old token or the new one, never both and never \
      neither. The new token is bound even if the old one was not. Both belong to the same app and \
      environment.
      """,
    options: [
      old, DeviceFlags.token, DeviceFlags.app, DeviceFlags.platform, DeviceFlags.environment,
      DeviceFlags.p256dh, DeviceFlags.auth, DeviceFlags.vapidKey,
    ],
    arguments: [DeviceFlags.user],
    examples: [
      .init(
        "fanfare device replace u1 --old aabb0011 --token ccdd2233 --app com.example.live",
        "Replace a token when the app sends both")
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
    "app", .text, value: "TOPIC", help: "Only in this app; by default in every app")
  private static let environment = Option<EnvironmentChoice?>(
    "environment", .choice(), help: "Only in this environment; by default in both")

  static let verb = Verb(
    "unbind", summary: "Unbind a device from a user",
    discussion: """
      The user gets no more pushes on this device. If another user has bound the token since, it \
      stays with that user: a late logout takes nothing from anybody.
      """,
    options: [DeviceFlags.token, app, DeviceFlags.platform, environment],
    arguments: [DeviceFlags.user],
    examples: [
      .init(
        "fanfare device unbind u1 --token aabbccddeeff0011",
        "Unbind a device at logout")
    ],
    exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let user = try DeviceFlags.user(invocation)
    let (token, topic) = try DeviceFlags.checked { () throws(GivenRefusal) in
      (
        try Given.token(
          invocation[DeviceFlags.token], of: invocation[DeviceFlags.platform].model,
          as: "--token"),
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
