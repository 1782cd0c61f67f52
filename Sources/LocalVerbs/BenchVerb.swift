import Benchmarks
import Processes
import Terminal
import VerbSupport

/// How fast it is, as ratios to a program that everybody can run.
package enum BenchVerb {
  private static let only = Option<BenchSuite.Section?>(
    "only", .choice(), value: "SECTION", help: "Measure only this section")
  private static let runs = Option(
    "runs", .integer(in: 1...99), default: 3,
    help: "Runs for each figure, of which the median is reported")
  private static let pushes = Option(
    "pushes", .integer(in: 1_000...10_000_000), default: 300_000,
    help:
      "Pushes, or requests of h2load, in each run of deliver, fcm, webpush, worker, cluster and "
      + "watched"
  )
  private static let events = Option(
    "events", .integer(in: 1...10_000), default: 100, help: "Events in each run of latency")

  package static let verb = Verb(
    "bench", summary: "Measure CPU time, memory and latency on this machine, compared with h2load",
    discussion: """
      deliver: CPU time for each push in the sending path alone, compared with each request of \
      h2load: same server, same headers, same body size, distinct paths. Both figures count the \
      whole process, as the system accounts for it, minus the same process with two requests, \
      because h2load first reads all paths.

      fcm: the same with FCM's requests, and the sizes of the bodies that one push has at FCM and \
      at Apple.

      webpush: CPU time for each push to browsers in the sending path alone, and how much of it is \
      cryptography: with the secrets of 4,096 subscriptions cached, with each secret computed \
      again, and with a key pair for each message. The last two send a tenth of the pushes.

      worker: CPU time for each push in a whole worker, from the Kafka event to the settled \
      counters.

      memory: the worker's peak resident size with 100,000 and with 1,000,000 followers.

      latency: the time from the event's append to the first push, on an idle system: with the \
      embedded broker and, if FANFARE_KAFKA_HOME names one, with an Apache Kafka.

      neighbours: what it costs healthy pushes when Apple defers other devices, when the sandbox \
      is closed, and when another push is refused.

      platforms: how much later two of Apple, FCM and Web Push end when the third is silent, \
      refuses our credentials, or fails every push.

      fairness: how much an event of 1,000,000 followers delays events of 20 and of 5,000 \
      followers, with an Apple 60 ms away and with one nearby.

      apns: the rate that remains when an Apple 60 ms away keeps sending GOAWAY, defers two pushes \
      of five, or takes streams from connections that send to dead tokens.

      scale: how much sooner an event of 400,000 followers ends with two and with four workers, \
      with an Apple 60 ms away.

      cluster: CPU time of the worker and of Redis for each push, with one Redis and with a Redis \
      Cluster of three masters.

      api: the number of device binds a second through `fanfare api`, CPU time for each bind, and \
      the p99 of binds at about half of the required rate.

      watched: CPU time for each push in a whole worker whose dashboard is open in a browser, \
      which is tapped at the default rate, and whose events are traced, compared with one that \
      nobody watches.

      Runs are interleaved. Every figure is the median of its runs, with the minimum and the \
      maximum beside it. The bench needs h2load, nghttpd, wrk and curl (Debian: \
      nghttp2-client, nghttp2-server, wrk, curl), and exits with 1 if a limit is missed. A build \
      without optimisation (swift build without -c release) misses the limits.
      """,
    options: [
      LocalFlags.json, only, runs, pushes, events, LocalFlags.lanes, LocalFlags.templates,
    ],
    examples: [
      .init("fanfare bench", "Measure everything, which takes some minutes"),
      .init("fanfare bench --only deliver --runs 5", "Measure the sending path five times"),
      .init("fanfare bench --json > bench.json", "Write the results for a script"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let asJSON = invocation[LocalFlags.json]
    let talk = asJSON ? invocation.errors : invocation.output
    let templates = try await LocalFlags.templateDirectory(invocation)
    let options = BenchOptions(
      runs: invocation[runs], pushes: invocation[pushes], events: invocation[events],
      lanes: invocation[LocalFlags.lanes], templates: templates, talk: talk)
    let sections = invocation[only].map { [$0] } ?? BenchSuite.Section.allCases
    let output = invocation.output
    return try await localRun("fanfare-bench", invocation) {
      (processes) async throws(LocalRunError) -> ExitCode in
      let results = try await BenchSuite(sections).run(options, processes)
      if asJSON {
        output.line(results.json.serialized())
      } else {
        results.write(to: output)
      }
      return results.meetLimits ? .ok : .failed
    }
  }
}
