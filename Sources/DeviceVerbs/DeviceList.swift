import Devices
import Terminal
import VerbSupport

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
