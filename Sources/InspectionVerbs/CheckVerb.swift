import Checks
import Terminal
import VerbSupport

/// Looks at everything that a process needs, and says all that is wrong at once.
package enum CheckVerb {
  private static let process = Option(
    "for", .choice(), default: CheckedProcess.worker, value: "PROCESS",
    help: "The process to check the configuration for; devices means audience, device, user, "
      + "follow and tag")
  private static let offline = Option(
    flag: "offline", help: "Check only files: configuration, templates, key")
  private static let denyWarnings = Option(
    flag: "deny-warnings", help: "Treat warnings as problems")
  private static let timeout = Option(
    "timeout", .duration(in: .milliseconds(100) ... .seconds(300)), default: .seconds(10),
    help: "The time limit for each of Kafka, Redis and Apple")
  private static let json = Option(flag: "json", help: "Print one JSON object")

  package static let verb = Verb(
    "check",
    summary: "Check the configuration, the templates and the key, and test all connections",
    discussion: """
      Each line says ok, warning, problem or skipped, with a hint where one helps. To test the \
      provider token or certificate, the command sends Apple a request for a device that cannot \
      exist, so no push is sent. To test writes, it stores a key in Redis for a second.

      The command checks only what the process needs. With --for api, for example, it needs keys \
      but no credentials for Apple, and it asks Redis whether its user may do what the API does.

      The exit code is 78 if the configuration must be changed, and 69 if only a service that it \
      names is down or not ready.
      """,
    options: [process, offline, denyWarnings, timeout, json] + ConfigurationOptions.all,
    examples: [
      .init("fanfare check --config fanfare.yaml", "Check before you start a worker"),
      .init("fanfare check --for api --config api.yaml", "Check before you start the API"),
      .init(
        "fanfare check --offline --deny-warnings",
        "Check files in a build, and fail on warnings"),
      .init(
        "fanfare check --json | jq '.checks[] | select(.status == \"problem\")'",
        "Print the problems for a script"),
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
