import Devices
import Terminal
import VerbSupport

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
