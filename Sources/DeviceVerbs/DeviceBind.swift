import Devices
import Terminal
import VerbSupport

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
