import Development
import LocalStack
import Processes
import Terminal
import VerbSupport

/// A whole Fanfare on this machine, for somebody who begins, until Ctrl-C.
package enum DevVerb {
  private static let directory = Option(
    "directory", .path, default: ".fanfare-dev", value: "DIR",
    help: "The directory for all its files; it stays, with the data, until the next run")
  private static let fresh = Option(
    flag: "fresh", help: "Remove first what an earlier run has left there, also the template")
  private static let port = Option(
    "port", .integer(in: 1...DevelopmentPorts.maximumBase), default: DevelopmentPorts.usualBase,
    help:
      "The first of \(DevelopmentPorts.count) ports in a row: the API with the dashboard, Redis, "
      + "Kafka, and the simulators of Apple, Android and the browsers")
  private static let emit = Option(
    flag: "emit", help: "Send the example event once, as soon as everything is ready")
  private static let templates = Option<String?>(
    "templates", .path, value: "DIR",
    help: "Where go-live.yaml is copied from at the first run; by default from what comes with "
      + "Fanfare")
  private static let json = Option(
    flag: "json", help: "Print one JSON object when ready, and one for each event")
  private static let set = Option<[NamedValue]>(
    repeated: "set", .named("KEY=VALUE, such as events.cooldown=1m"), value: "KEY=VALUE",
    help: "Set a value of the worker's and the API's configuration, such as events.cooldown=1m")

  package static let verb = Verb(
    "dev", summary: "Run a whole Fanfare on this machine, to try and to develop with",
    discussion: """
      Starts a redis-server, an embedded Kafka broker, simulators of Apple's push service, of \
      Firebase Cloud Messaging and of the browsers' push services, a worker, and the API with its \
      dashboard. They use ports 8460 to 8465 of 127.0.0.1, in the order that --port names. User \
      ken has an Apple device, an Android device and a browser; he and 200 invented users follow \
      the streamer s42.

      The directory gets fanfare.yaml, with which all other commands work (--config, or \
      FANFARE_CONFIG), an API key that may do everything, and templates/go-live.yaml for you to \
      edit. A later run keeps templates, key and data, but writes fanfare.yaml again. What is in \
      Kafka does not stay.

      On a terminal, e sends the example event, b prints a link to the dashboard with its key, u \
      takes back what this run has changed in the template (then what earlier runs have), l shows \
      the worker's log, and q or Ctrl-C ends everything. When the template has changed, it prints \
      whether the worker uses it, or which line has a mistake. After each event, also of fanfare \
      emit, it prints the counters, and the text that each of Ken's devices got. If one of the \
      processes ends by itself, it prints the last lines of its log, and exits with 1.
      """,
    options: [directory, fresh, port, emit, templates, set, json],
    examples: [
      .init("fanfare dev", "Start everything in .fanfare-dev"),
      .init("fanfare dev --fresh --emit", "Begin without earlier data, and send the example event"),
      .init("fanfare dev --directory /tmp/other --port 8560", "Run a second one beside the first"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let signals = StopSignals.catchAll()
    let ports = DevelopmentPorts(base: invocation[port])
    let clock = { @Sendable in invocation.nowMilliseconds }
    let options = DevelopmentRun.Options(
      ports: ports, settings: invocation[set].map { "\($0.name)=\($0.value)" },
      sendsExample: invocation[emit], asJSON: invocation[json], now: clock,
      isInterrupted: { signals.isRaised })
    let output = invocation.output
    let isInteractive = output.capabilities.isTerminal && !invocation[json]
    return try await CommandFailure.from { () async throws(LocalRunError) in
      let place = try DevelopmentDirectory(
        invocation[directory], ports, isFresh: invocation[fresh],
        shipped: try TemplateDirectory.find(invocation[templates]))
      let keyInput = isInteractive ? KeyInput() : nil
      defer { keyInput?.end() }
      return try await LocalRun.run(
        in: place.directory, isInterrupted: { signals.isRaised }
      ) { (processes) async throws(LocalRunError) -> ExitCode in
        try await DevelopmentRun(
          options, in: place, processes, output: output, keyInput: keyInput
        ).run()
        return .ok
      }
    }
  }
}
