import Devices
import Terminal
import VerbSupport

/// `user show`: what Redis holds under a user's own keys.
enum UserShow {
  static let verb = Verb(
    "show", summary: "Show a user's profile and devices",
    discussion: """
      Whom the user follows is not among it: Redis knows of each streamer who follows, and of \
      nobody whom.
      """,
    options: [DeviceRows.tokens], arguments: [DeviceFlags.user],
    examples: [
      .init("fanfare user show u1", "For people"), .init("fanfare user show u1 --json", "A script"),
    ], exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let user = try DeviceFlags.user(invocation)
    let record = try await CommandRegistry.lend(try invocation.loadSettings()) {
      (registry) async throws(DevicesError) in try await registry.user(user)
    }
    guard record.isKnown else {
      throw CommandFailure(.failed, "Redis knows no profile and no device of \(user)")
    }
    tell(record, invocation)
    return .ok
  }

  private static func tell(_ record: UserRecord, _ invocation: Invocation) {
    let rows = DeviceRows(record.devices, showsTokens: invocation[DeviceRows.tokens])
    guard invocation[UserVerb.json] else {
      var text = Summary()
      text.section(record.user)
      ProfileText.add(record.profile, to: &text)
      if record.reached > 0 {
        text.add("events", record.reached, note: "of about the last hour (rules.events_per_hour)")
      }
      text.write(to: invocation.output)
      invocation.output.line()
      rows.write(of: record.user, invocation)
      return
    }
    let line: JSONOutput = [
      "user": .text(record.user), "profile": ProfileText.json(record.profile),
      "devices": rows.json, "unreadable": .integer(record.devices.unreadable),
      "reached": .integer(record.reached),
    ]
    invocation.output.line(line.serialized())
  }
}
