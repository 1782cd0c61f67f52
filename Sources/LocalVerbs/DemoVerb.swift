import Demo
import Processes
import Terminal
import VerbSupport

/// The whole way of the data on this machine, with one command.
package enum DemoVerb {
  private static let followers = Option(
    "followers", .integer(in: 1...10_000_000), default: 100_000,
    help: "Followers of the streamer who goes live; they have about 1.2 devices each")
  private static let androidShare = Option(
    "android-share", .number(in: 0...1), default: 0.45, value: "SHARE",
    help: "The share of their devices that are Android's")
  private static let browserShare = Option(
    "browser-share", .number(in: 0...1), default: 0.15, value: "SHARE",
    help: "The share of their devices that are browsers; what is left is Apple's")
  private static let keep = Option(
    flag: "keep",
    help:
      "Keep the directory with the logs, the configuration and Redis' data, and print how to "
      + "inspect it")

  package static let verb = Verb(
    "demo", summary: "Run the whole system on this machine, and check that no push was lost",
    discussion: """
      Starts a redis-server, an embedded Kafka broker, a simulator of Apple's push service, one of \
      Firebase Cloud Messaging, one of the browsers' push services and a worker, each as its own \
      process on a free port of 127.0.0.1. Generates an audience in eight languages, with Apple \
      devices, Android devices and browsers, in which some devices are dead and some people have \
      muted the streamer. Then it writes one event to Kafka, and watches it become a personal push \
      on every device.

      At the end, the demo compares the counters in Redis with what the push services received, \
      and both with who should have been reached. It exits with 1 if a push was lost or the \
      counters differ. It leaves nothing behind, even after Ctrl-C.
      """,
    options: [
      followers, androidShare, browserShare, LocalFlags.lanes, LocalFlags.templates,
      LocalFlags.json, keep,
    ],
    examples: [
      .init("fanfare demo", "Notify 100,000 followers"),
      .init("fanfare demo --followers 1M", "Notify a million"),
      .init("fanfare demo --android-share 0 --browser-share 0", "Notify Apple devices alone"),
      .init("fanfare demo --json | jq .pushes_per_second", "Print one figure for a script"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let asJSON = invocation[LocalFlags.json]
    let keeps = invocation[keep]
    let output = invocation.output
    let errors = invocation.errors
    let templates = try await LocalFlags.templateDirectory(invocation)
    let (android, browsers) = (invocation[androidShare], invocation[browserShare])
    guard android + browsers <= 1 else {
      throw CommandFailure(.usage, "--android-share and --browser-share are more than 1 together")
    }
    let platforms = try await CommandFailure.fromSimulator {
      [
        DemoPlatform.apple(share: 1 - android - browsers), .android(share: android),
        try .browsers(share: browsers),
      ]
    }
    let options = DemoRun.Options(
      followers: invocation[followers], platforms: platforms,
      lanes: invocation[LocalFlags.lanes], templates: templates,
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
