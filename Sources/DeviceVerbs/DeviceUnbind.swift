import Devices
import Model
import PushSupport
import Terminal
import VerbSupport

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
