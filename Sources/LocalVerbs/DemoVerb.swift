import Demo
import LocalStack
import Processes
import Terminal
import VerbSupport

/// The whole way of the data on this machine, with one command.
package enum DemoVerb {
  private static let followers = Option(
    "followers", .integer(in: 1...10_000_000), default: 100_000,
    help: "Followers of the streamer who goes live; they have about 1.2 devices each")
  private static let lanes = Option(
    "lanes", .integer(in: 0...256), default: 0, help: "Lanes of the worker; 0: one for each core")
  private static let templates = Option<String?>(
    "templates", .path, value: "DIR",
    help: "The directory of go-live.yaml; the one that comes with Fanfare unless given")
  private static let json = Option(
    flag: "json", help: "Print one JSON object on standard output, all else on standard error")
  private static let keep = Option(
    flag: "keep",
    help:
      "Leave the directory: logs, configuration, and what Redis held, with the way to look at it")

  package static let verb = Verb(
    "demo", summary: "Show everything at work on this machine, and check that nothing was lost",
    discussion: """
      Starts a redis-server, an embedded Kafka broker, a stand-in for Apple's push service and a \
      worker, each a process of its own on a free port of 127.0.0.1; makes an audience in eight \
      languages, some of whose devices are dead and some of whose people are muted; writes one \
      event to Kafka and watches it become a personal push on every device.

      Then it compares: what the counters in Redis say with what the push service saw, and both \
      with who ought to have been reached. It ends with 1 when anything was lost or the counters \
      differ. Nothing of it stays behind, also after Ctrl-C.
      """,
    options: [followers, lanes, templates, json, keep],
    examples: [
      .init("fanfare demo", "100,000 followers"),
      .init("fanfare demo --followers 1M", "A million"),
      .init("fanfare demo --json | jq .pushes_per_second", "For scripts"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let asJSON = invocation[json]
    let keeps = invocation[keep]
    let output = invocation.output
    let errors = invocation.errors
    let directory = invocation[templates]
    let templates = try await CommandFailure.from { () async throws(LocalRunError) in
      try TemplateDirectory.find(directory)
    }
    let options = DemoRun.Options(
      followers: invocation[followers], lanes: invocation[lanes], templates: templates,
      talk: asJSON ? errors : output)
    return try await localRun("fanfare-demo", invocation, keepsDirectory: keeps) {
      (processes) async throws(LocalRunError) -> ExitCode in
      let report = try await DemoRun(options, processes).run {
        (stack, event) async throws(LocalRunError) in
        if keeps { try await DemoLastWords.keep(event, stack, on: asJSON ? errors : output) }
      }
      if asJSON {
        output.line(report.json.serialized())
      } else {
        report.write(to: output)
        DemoLastWords.whatNext(templates: templates, on: output)
      }
      return report.isGood ? .ok : .failed
    }
  }
}
