import Settings
import Terminal

/// Looks at everything that a worker needs, and says all that is wrong at once.
enum CheckVerb {
  private static let offline = Option(
    flag: "offline", help: "Look at files only: configuration, templates, key")
  private static let denyWarnings = Option(
    flag: "deny-warnings", help: "Take warnings for problems")
  private static let timeout = Option(
    "timeout", .duration(in: .milliseconds(100) ... .seconds(300)), default: .seconds(10),
    help: "How long each of Kafka, Redis and Apple may take")
  private static let json = Option(flag: "json", help: "Print one JSON object")

  static let verb = Verb(
    "check", summary: "Look at configuration, templates and key, and connect to everything",
    discussion: """
      Each line says ok, warning, problem or skipped, with a hint where one helps. The provider \
      token is shown to Apple with a request for a device that cannot exist: no push is sent. \
      Redis gets one key, for a second, to see whether it takes writes.

      The exit code is 78 when the configuration must be changed, and 69 when only something that \
      it points to is down or not ready.
      """,
    options: [offline, denyWarnings, timeout, json] + ConfigurationOptions.all,
    examples: [
      .init("fanfare check --config fanfare.yaml", "Before a worker starts"),
      .init("fanfare check --offline --deny-warnings", "In a build, on the configuration's branch"),
      .init(
        "fanfare check --json | jq '.checks[] | select(.status == \"problem\")'", "In a script"),
    ], exitCodes: [.ok, .unavailable, .config]
  ) { invocation in
    let list = await run(invocation)
    if invocation[json] {
      invocation.output.line(list.json.serialized())
    } else {
      list.write(to: invocation.output)
    }
    return list.exitCode
  }

  private static func run(_ invocation: Invocation) async -> CheckList {
    var list = CheckList(deniesWarnings: invocation[denyWarnings])
    let report = invocation.settingsReport(requirements: [.providerToken])
    FileChecks.configuration(report, file: invocation.configurationFile, &list)
    // Also with a configuration that is wrong elsewhere: its files may hold further problems.
    FileChecks.templates(report.read, &list)
    let tokens = FileChecks.key(report.read, &list)
    guard !invocation[offline] else { return list }
    if mayConnect("kafka", report, &list) {
      KafkaChecks.run(report.read, timeout: invocation[timeout], &list)
    }
    if mayConnect("redis", report, &list) {
      list.append(
        await RedisChecks.run(
          report.read, timeout: invocation[timeout], deniesWarnings: list.deniesWarnings))
    }
    if mayConnect("apns", report, &list) {
      list.append(
        await APNsChecks.run(
          report.read, tokens, timeout: invocation[timeout], deniesWarnings: list.deniesWarnings))
    }
    return list
  }

  /// Without these one can see whether Apple's servers are there, but show them no provider token.
  private static let providerTokenKeys = ["apns.key_file", "apns.key_id", "apns.team_id"]

  /// A mistake in one part of the configuration says nothing about the others.
  private static func mayConnect(
    _ area: String, _ report: SettingsReport, _ list: inout CheckList
  ) -> Bool {
    let isWrong = report.problems.contains { problem in
      // What names no key is about the whole file.
      guard let key = problem.key else { return true }
      return (key == area || key.hasPrefix(area + ".")) && !providerTokenKeys.contains(key)
    }
    if isWrong {
      list.skipped(area, "not connected to while its part of the configuration is wrong")
    }
    return !isWrong
  }
}
