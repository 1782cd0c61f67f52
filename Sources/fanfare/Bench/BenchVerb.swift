import EventLoop
import Terminal

/// What a bench was asked to do, and where it tells how it gets on.
struct BenchOptions: Sendable {
  let runs: Int
  let pushes: Int
  let events: Int
  let lanes: Int
  let templates: String
  let talk: Console

  func note(_ section: String, _ run: Int, _ text: String) {
    talk.line("  \(TextLayout.padded(section, to: 8)) \(run)/\(runs)  \(text)")
  }

  /// Shows the progress of a seeding.
  func seeding(
    _ what: String, _ total: Int,
    _ body: (_ progress: (Int) -> Void) async throws(CommandFailure) -> Void
  ) async throws(CommandFailure) {
    var line = ProgressLine(
      "  seeding ", total: total, on: talk, at: EventLoop.monotonicNanoseconds())
    try await body { line.update(done: $0, at: EventLoop.monotonicNanoseconds()) }
    line.finish(note: what, at: EventLoop.monotonicNanoseconds())
  }
}

/// How fast it is, as ratios to a program that everybody can run.
enum BenchVerb {
  enum Section: String, CaseIterable, Sendable {
    case deliver, worker, memory, latency, neighbours
  }

  private static let json = Option(
    flag: "json", help: "Print one JSON object on standard output, all else on standard error")
  private static let only = Option<Section?>(
    "only", .choice(), value: "SECTION", help: "Measure only this")
  private static let runs = Option(
    "runs", .integer(in: 1...99), default: 3, help: "Runs of each figure; the median counts")
  private static let pushes = Option(
    "pushes", .integer(in: 1_000...10_000_000), default: 300_000,
    help: "Pushes, and requests of h2load, in a run of deliver and worker")
  private static let events = Option(
    "events", .integer(in: 1...10_000), default: 100, help: "Events in a run of latency")
  private static let lanes = Option(
    "lanes", .integer(in: 0...256), default: 0, help: "Lanes of the worker; 0: one for each core")
  private static let templates = Option<String?>(
    "templates", .path, value: "DIR",
    help: "The directory of go-live.yaml; the one that comes with Fanfare unless given")

  static let verb = Verb(
    "bench", summary: "Measure CPU, memory and latency on this machine, beside h2load",
    discussion: """
      deliver: CPU time a push of the sending path alone, beside h2load's a request: same server, \
      same headers, same body size, distinct paths. Of both the whole process counts, as the \
      system accounts for it, less the same process with two requests: h2load reads all paths \
      first.

      worker: CPU time a push of a whole worker, from the Kafka event to the settled counters.

      memory: the worker's peak resident size at 100,000 and 1,000,000 followers.

      latency: from the event's append to the first push, on an idle system.

      neighbours: what devices that Apple puts off, a closed sandbox and a refused push cost the \
      healthy pushes beside them.

      Runs are interleaved; every figure is the median of them, with the least and the most beside \
      it. It needs h2load and nghttpd (Debian: nghttp2-client, nghttp2-server) and ends with 1 \
      when a limit is missed. A build without optimisation (swift build without -c release) \
      misses them.
      """,
    options: [json, only, runs, pushes, events, lanes, templates],
    examples: [
      .init("fanfare bench", "Everything; some minutes"),
      .init("fanfare bench --only deliver --runs 5", "The sending path, five times"),
      .init("fanfare bench --json > bench.json", "For scripts"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config]
  ) { invocation in
    await invocation.reporting { () async throws(CommandFailure) in
      let asJSON = invocation[json]
      let talk = asJSON ? invocation.errors : invocation.output
      let options = BenchOptions(
        runs: invocation[runs], pushes: invocation[pushes], events: invocation[events],
        lanes: invocation[lanes], templates: try TemplateDirectory.find(invocation[templates]),
        talk: talk)
      let sections = invocation[only].map { [$0] } ?? Section.allCases
      let output = invocation.output
      try requirePrograms(sections)
      return try await Rehearsal.run(
        "fanfare-bench", keepsDirectory: false, errors: invocation.errors
      ) { household throws(CommandFailure) in
        let results = try await measure(sections, options, household)
        if asJSON {
          output.line(results.json.serialized())
        } else {
          results.write(to: output)
        }
        return results.meetLimits ? .ok : .failed
      }
    }
  }

  /// Before minutes have been spent.
  private static func requirePrograms(_ sections: [Section]) throws(CommandFailure) {
    if sections != [.deliver] {
      _ = try Executable.find("redis-server", package: "redis-server")
    }
    if sections.contains(.deliver) {
      _ = try Executable.find("nghttpd", package: "nghttp2-server")
    }
    if sections.contains(.deliver) || sections.contains(.worker) {
      _ = try Executable.find("h2load", package: "nghttp2-client")
    }
  }

  private static func measure(
    _ sections: [Section], _ options: BenchOptions, _ household: Household
  ) async throws(CommandFailure) -> BenchResults {
    options.talk.line(
      options.talk.styled("Fanfare bench", .bold)
        + ": \(sections.map(\.rawValue).joined(separator: ", ")), \(options.runs) runs each")
    var results = BenchResults()
    for section in sections {
      switch section {
      case .deliver:
        results.add(try await DeliverBench(household: household, options: options).run())
      case .worker:
        results.add(try await WorkerBench(household: household, options: options).run())
      case .memory:
        results.add(try await MemoryBench(household: household, options: options).run())
      case .latency:
        results.add(try await LatencyBench(household: household, options: options).run())
      case .neighbours:
        results.add(try await NeighboursBench(household: household, options: options).run())
      }
      await household.stopAll()
    }
    return results
  }
}
