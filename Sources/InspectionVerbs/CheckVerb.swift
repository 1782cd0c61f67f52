import Checks
import Terminal
import VerbSupport

/// Looks at everything that a process needs, and says all that is wrong at once.
package enum CheckVerb {
  private static let process = Option(
    "for", .choice(), default: CheckedProcess.worker, value: "PROCESS",
    help: "Whose configuration it is: worker, api, emit, send, devices (audience, device, user, "
      + "follow, tag) or fanout")
  private static let offline = Option(
    flag: "offline", help: "Look at files only: configuration, templates, key")
  private static let denyWarnings = Option(
    flag: "deny-warnings", help: "Take warnings for problems")
  private static let timeout = Option(
    "timeout", .duration(in: .milliseconds(100) ... .seconds(300)), default: .seconds(10),
    help: "How long each of Kafka, Redis and Apple may take")
  private static let json = Option(flag: "json", help: "Print one JSON object")

  package static let verb = Verb(
    "check", summary: "Look at configuration, templates and key, and connect to everything",
    discussion: """
      Each line says ok, warning, problem or skipped, with a hint where one helps. The provider \
      token or certificate is shown to Apple with a request for a device that cannot exist: no \
      push is sent. \
      Redis gets one key, for a second, to see whether it takes writes.

      What a process does not need is not asked for: --for api wants keys and no credentials for \
      Apple, and Redis is asked whether its user may do what the API does.

      The exit code is 78 when the configuration must be changed, and 69 when only something that \
      it points to is down or not ready.
      """,
    options: [process, offline, denyWarnings, timeout, json] + ConfigurationOptions.all,
    examples: [
      .init("fanfare check --config fanfare.yaml", "Before a worker starts"),
      .init("fanfare check --for api --config api.yaml", "Before the API starts"),
      .init("fanfare check --offline --deny-warnings", "In a build, on the configuration's branch"),
      .init(
        "fanfare check --json | jq '.checks[] | select(.status == \"problem\")'", "In a script"),
    ], exitCodes: [.ok, .unavailable, .config]
  ) { invocation in
    let process = invocation[process]
    let list = await Checks.run(
      invocation.settingsReport(requirements: process.asksApple ? [.credentials] : []),
      for: process, file: invocation.configurationFile, connects: !invocation[offline],
      timeout: invocation[timeout], deniesWarnings: invocation[denyWarnings],
      now: invocation.nowMilliseconds)
    if invocation[json] {
      invocation.output.line(list.json.serialized())
    } else {
      list.write(to: invocation.output)
    }
    return list.exitCode
  }
}
