import Benchmarks
import LocalStack
import Processes
import Terminal
import VerbSupport

/// How fast it is, as ratios to a program that everybody can run.
package enum BenchVerb {
  private static let json = Option(
    flag: "json", help: "Print one JSON object on standard output, all else on standard error")
  private static let only = Option<BenchSuite.Section?>(
    "only", .choice(), value: "SECTION", help: "Measure only this")
  private static let runs = Option(
    "runs", .integer(in: 1...99), default: 3, help: "Runs of each figure; the median counts")
  private static let pushes = Option(
    "pushes", .integer(in: 1_000...10_000_000), default: 300_000,
    help: "Pushes, and requests of h2load, in a run of deliver, worker and cluster")
  private static let events = Option(
    "events", .integer(in: 1...10_000), default: 100, help: "Events in a run of latency")
  private static let lanes = Option(
    "lanes", .integer(in: 0...256), default: 0, help: "Lanes of the worker; 0: one for each core")
  private static let templates = Option<String?>(
    "templates", .path, value: "DIR",
    help: "The directory of go-live.yaml; the one that comes with Fanfare unless given")

  package static let verb = Verb(
    "bench", summary: "Measure CPU, memory and latency on this machine, beside h2load",
    discussion: """
      deliver: CPU time a push of the sending path alone, beside h2load's a request: same server, \
      same headers, same body size, distinct paths. Of both the whole process counts, as the \
      system accounts for it, less the same process with two requests: h2load reads all paths \
      first.

      worker: CPU time a push of a whole worker, from the Kafka event to the settled counters.

      memory: the worker's peak resident size at 100,000 and 1,000,000 followers.

      latency: from the event's append to the first push, on an idle system: on the embedded \
      broker, and on an Apache Kafka where FANFARE_KAFKA_HOME names one.

      neighbours: what devices that Apple puts off, a closed sandbox and a refused push cost the \
      healthy pushes beside them.

      fairness: what events of 20 and of 5,000 followers feel of one of 1,000,000 in progress, \
      with an Apple that is 60 ms away and one that is near.

      apns: what is left of the rate while an Apple that is 60 ms away says GOAWAY all the time, \
      puts off two pushes of five, or takes streams from connections that send to dead tokens.

      scale: how much sooner an event of 400,000 followers is over with two and four workers, \
      with an Apple that is 60 ms away.

      cluster: CPU time a push of the worker and of Redis, on one Redis and on a Redis Cluster of \
      three masters.

      api: binds of devices a second through `fanfare api`, CPU time a bind, and their p99 at \
      about half of the rate that is demanded.

      Runs are interleaved; every figure is the median of them, with the least and the most beside \
      it. It needs h2load, nghttpd and wrk (Debian: nghttp2-client, nghttp2-server, wrk) and ends \
      with 1 when a limit is missed. A build without optimisation (swift build without -c release) \
      misses them.
      """,
    options: [json, only, runs, pushes, events, lanes, templates],
    examples: [
      .init("fanfare bench", "Everything; some minutes"),
      .init("fanfare bench --only deliver --runs 5", "The sending path, five times"),
      .init("fanfare bench --json > bench.json", "For scripts"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let asJSON = invocation[json]
    let talk = asJSON ? invocation.errors : invocation.output
    let directory = invocation[templates]
    let templates = try await CommandFailure.from { () async throws(LocalRunError) in
      try TemplateDirectory.find(directory)
    }
    let options = BenchOptions(
      runs: invocation[runs], pushes: invocation[pushes], events: invocation[events],
      lanes: invocation[lanes], templates: templates,
      talk: talk)
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
