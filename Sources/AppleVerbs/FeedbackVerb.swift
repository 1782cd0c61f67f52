import Assembly
import Feedback
import PushSupport
import Terminal
import VerbSupport

/// `feedback pull`: what gateways of the legacy binary interface have in the place of a 410.
package enum FeedbackVerb {
  private static let json = Option(flag: "json", help: "Print the summary as one JSON object")
  private static let host = Option(
    required: "host", .text, value: "HOST", help: "The feedback service's host")
  private static let port = Option(
    "port", .integer(in: 1...65_535), default: 2_196, help: "The feedback service's port")
  private static let environment = Option<EnvironmentChoice>(
    "environment", .choice(), default: .production,
    help: "The environment of the tokens that the service reports")
  private static let timeout = Option(
    "timeout", .duration(in: .milliseconds(100) ... .seconds(600)), default: .seconds(30),
    help: "The time limit for connecting, and between two reads")
  private static let dryRun = Option(
    flag: "dry-run", help: "Write nothing; the service still forgets what it has reported")

  package static let verb = Verb(
    group: "feedback", summary: "Legacy: read a feedback service of the binary interface",
    options: [json] + ConfigurationOptions.all, verbs: [pull],
    examples: [
      .init(
        "fanfare feedback pull --host gateway.example.com",
        "Remove tokens that are gone, for example once an hour")
    ])

  private static let pull = Verb(
    "pull", summary: "Legacy: remove the tokens that a feedback service reports as gone",
    discussion: """
      Apple retired the binary interface and its feedback service on 2021-03-31. Over HTTP/2, \
      Apple answers 410 for a token that is gone, and the worker removes it. This command is for \
      private gateways that still speak the old interface (docs/legacy.md).

      A token is removed only if the service's time is not older than its binding. The service \
      reports whole seconds, so a binding of the same second stays. TLS trusts the certificates in \
      apns.ca_file. The command reads a service for at most ten minutes, and at most some 500,000 \
      tokens.
      """,
    options: [host, port, environment, timeout, dryRun],
    examples: [
      .init(
        "fanfare feedback pull --host gateway.example.com --environment sandbox --dry-run",
        "Count the tokens that would be removed; the service still forgets them")
    ], exitCodes: [.ok, .failed, .unavailable, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let keyspace = Assembly.keyspace(settings)
    let isDryRun = invocation[dryRun]
    let isSandbox = invocation[environment] == .sandbox
    let route = try CommandApple(settings).feedbackRoute(
      host: invocation[host], port: invocation[port], now: invocation.nowMilliseconds)
    let timeout = invocation[timeout]
    // Redis first: what the service has told, it tells nobody again.
    let result = try await CommandRedis.lend(settings) {
      (_, redis) async throws(CommandFailure) -> (counts: FeedbackCounts, failure: String?) in
      let reading = await FeedbackStream.read(route, timeout: timeout)
      let pruning = FeedbackPruning(redis: redis, keyspace: keyspace, isSandbox: isSandbox)
      let counts = try await pruning.run(
        reading.tuples, writes: !isDryRun, now: invocation.nowMilliseconds)
      return (counts, reading.failure)
    }
    if invocation[json] {
      invocation.output.line(result.counts.json(isDryRun: isDryRun).serialized())
    } else {
      result.counts.summary(isDryRun: isDryRun).write(to: invocation.output)
    }
    if let failure = result.failure { throw CommandFailure(.unavailable, failure) }
    return result.counts.failed > 0 ? .failed : .ok
  }
}
