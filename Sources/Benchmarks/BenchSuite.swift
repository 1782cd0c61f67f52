import Devices
import EventLoop
import LocalStack
import Processes
import ServerProcesses
import Telemetry
import Terminal

/// One section of a bench.
protocol Bench {
  init(processes: ChildProcesses, options: BenchOptions)

  func run() async throws(LocalRunError) -> [BenchResult]
}

/// The sections of a bench, one after the other.
package struct BenchSuite: Sendable {
  package enum Section: String, CaseIterable, Sendable {
    case deliver, fcm, webpush, worker, memory, latency, neighbours, platforms, fairness, apns,
      scale, cluster, api, watched

    fileprivate var bench: any Bench.Type {
      switch self {
      case .deliver: DeliverBench.self
      case .fcm: FCMBench.self
      case .webpush: WebPushBench.self
      case .worker: WorkerBench.self
      case .memory: MemoryBench.self
      case .latency: LatencyBench.self
      case .neighbours: NeighboursBench.self
      case .platforms: PlatformsBench.self
      case .fairness: FairnessBench.self
      case .apns: APNsBench.self
      case .scale: ScaleBench.self
      case .cluster: ClusterBench.self
      case .api: APIBench.self
      case .watched: WatchedBench.self
      }
    }
  }

  private let sections: [Section]

  package init(_ sections: [Section]) { self.sections = sections }

  /// Before minutes have been spent.
  private func requirePrograms() throws(LocalRunError) {
    if !sections.allSatisfy({ [.deliver, .fcm, .webpush].contains($0) }) {
      _ = try Executable.find("redis-server", package: "redis-server")
    }
    if sections.contains(.deliver) {
      _ = try Executable.find("nghttpd", package: "nghttp2-server")
    }
    if sections.contains(where: { [.deliver, .fcm, .worker].contains($0) }) {
      _ = try Executable.find("h2load", package: "nghttp2-client")
    }
    if sections.contains(.watched) { _ = try Executable.find("curl", package: "curl") }
    if sections.contains(.api) { _ = try Executable.find("wrk", package: "wrk") }
  }

  package func run(
    _ options: BenchOptions, _ processes: ChildProcesses
  ) async throws(LocalRunError) -> BenchResults {
    try requirePrograms()
    options.talk.line(
      options.talk.styled("Fanfare bench", .bold)
        + ": \(sections.map(\.rawValue).joined(separator: ", ")), \(options.runs) runs each")
    var results = BenchResults()
    for section in sections {
      let bench = section.bench.init(processes: processes, options: options)
      results.add(try await bench.run())
      await processes.stopAll()
    }
    return results
  }
}

/// The report that wrk, run with `--latency`, prints at its end.
package struct WrkReport: Sendable, Equatable {
  package let requests: Int
  package let requestsPerSecond: Double
  /// The 99th percentile of the answers' times.
  package let p99Milliseconds: Double
  /// Answers that were no success, and connections that broke.
  package let hasErrors: Bool

  /// Nil when a number is missing. Of its output these lines are read, the last two of which are
  /// there only when there is something to tell:
  ///
  ///          99%   26.40ms
  ///       71852 requests in 8.05s, 27.06MB read
  ///     Requests/sec:   8930.85
  ///       Socket errors: connect 0, read 3, write 0, timeout 0
  ///       Non-2xx or 3xx responses: 12
  package init?(_ output: String) {
    var requests: Int?
    var perSecond: Double?
    var p99: Double?
    var hasErrors = false
    for line in output.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count > 2, words[1] == "requests", words[2] == "in" { requests = Int(words[0]) }
      if words.count == 2, words[0] == "Requests/sec:" { perSecond = Double(words[1]) }
      if words.count == 2, words[0] == "99%" { p99 = Self.milliseconds(words[1]) }
      if ["Socket", "Non-2xx"].contains(words.first) { hasErrors = true }
    }
    guard let requests, let perSecond, perSecond.isFinite, let p99 else { return nil }
    self.requests = requests
    requestsPerSecond = perSecond
    p99Milliseconds = p99
    self.hasErrors = hasErrors
  }

  /// `852.00us`, `26.40ms`, `1.20s`.
  private static func milliseconds(_ text: Substring) -> Double? {
    for (unit, scale) in [("us", 0.001), ("ms", 1), ("s", 1_000)] where text.hasSuffix(unit) {
      return Double(text.dropLast(unit.count)).map { $0 * scale }
    }
    return nil
  }
}

/// A whole worker from the Kafka event to the settled counters, against h2load in the same run.
/// The worker's CPU time is read from /proc just before the event is written and when its last
/// counter is.
struct WorkerBench: Bench {
  static let ratioLimit = 2.5
  /// Microseconds; some 4 were measured.
  static let redisLimit = 5.0
  private static let streamer = "bench-worker"

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes,
      platforms: [.apns(BenchTraffic.simulatorOptions)])
    defer { stack.close() }
    let audience = BenchAudience(streamer: Self.streamer, options: options)
    try await audience.seed(stack)
    try await stack.startWorker()
    let load = try LoadGenerator(processes, stack.simulator)
    try await audience.warm(stack)
    var h2load = LoadGenerator.Series(requests: options.pushes)
    var worker: [MeasuredFanOut] = []
    for run in 1...options.runs {
      let fanOut = try await audience.fanOut(run, on: stack)
      worker.append(fanOut)
      try await load.run(options.pushes, into: &h2load)
      let cost = Figures.time(nanoseconds: fanOut.cpuMicrosecondsPerPush * 1_000)
      options.note("worker", run, "worker \(cost), h2load \(h2load.last)")
    }
    let costs = worker.map(\.cpuMicrosecondsPerPush)
    return try LoadGenerator.results(h2load) + [
      try BenchResult("worker_cpu_us", "whole worker: CPU a push", costs, unit: " µs", digits: 2),
      try BenchResult.ratio(
        "worker_ratio", "whole worker ÷ h2load",
        zip(costs, h2load.costs).map { $0 / $1 },
        limit: Self.ratioLimit),
      try BenchResult(
        "worker_per_second", "whole worker: pushes a second",
        worker.map { Double($0.sentPushes) * 1_000 / $0.elapsedMilliseconds }, unit: "",
        digits: 0),
      try BenchResult(
        "redis_cpu_us", "Redis: CPU a push", worker.map(\.redisMicrosecondsPerPush), unit: " µs",
        digits: 2, limit: Self.redisLimit),
    ]
  }
}

/// How much sooner a large event is over when two and four workers share it, with an Apple that is
/// 60 ms away and takes so many streams that four workers, Redis, the broker and the simulator fit
/// into the cores of one machine: then a worker waits for answers, and what others could take from
/// it is not a core, but its part of the work.
struct ScaleBench: Bench {
  /// Of four workers.
  static let leastRatio = 3.8
  private static let followers = 400_000
  private static let latency = "60ms"
  /// A connection; with two of them a worker sends some 10,000 a second.
  private static let streams = "300"
  private static let counts = [1, 2, 4]

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    // With a lane each: four workers with one for each core would measure the cores.
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: 1,
      platforms: [
        .apns(
          [
            "--latency", Self.latency, "--first-streams", Self.streams, "--streams", Self.streams,
          ], connections: 2)
      ])
    defer { stack.close() }
    let people = SyntheticAudience(followers: Self.followers, seed: 8, topic: LocalStack.app)
    try await options.seeding("\(Figures.grouped(people.followers)) followers", people.followers) {
      (progress) async throws(LocalRunError) in
      try await stack.seed(
        streamer: Self.streamer, followers: people.followers, progress: progress, row: people.row)
    }
    var seconds: [Int: [Double]] = [:]
    for count in Self.counts {
      try await stack.startWorkers(upTo: count)
      for run in 1...options.runs {
        let event = GoLiveEvent(id: "\(Self.streamer)-\(count)-\(run)", streamer: Self.streamer)
        let emittedAt = try await stack.emit(event)
        let status = try await stack.settled(event)
        let time = Double(Int64(status.lastPushAt) * 1_000 - emittedAt) / 1_000_000
        seconds[count, default: []].append(time)
        options.note(
          "scale", run, "\(count) \(count == 1 ? "worker" : "workers"): \(Figures.fixed(time)) s")
      }
    }
    guard let alone = Measurements(seconds[1] ?? [])?.median else {
      throw LocalRunError(.failed, "no event was measured")
    }
    return [
      try BenchResult(
        "scale_one_s", "400,000 followers, 60 ms latency, one worker of one lane", seconds[1] ?? [],
        unit: " s", digits: 1),
      try BenchResult.ratio(
        "scale_two_ratio", "the same ÷ with two workers", (seconds[2] ?? []).map { alone / $0 }),
      try BenchResult.ratio(
        "scale_four_ratio", "the same ÷ with four", (seconds[4] ?? []).map { alone / $0 },
        least: Self.leastRatio),
    ]
  }

  private static let streamer = "bench-scale"
}

/// From the append of an event to the first push at the push service, while nothing else is going
/// on: each event has its own streamer with one follower, whose token tells it in the ledger.
struct LatencyBench: Bench {
  let processes: ChildProcesses
  let options: BenchOptions

  /// On the embedded broker, and on an Apache Kafka where `FANFARE_KAFKA_HOME` names one.
  func run() async throws(LocalRunError) -> [BenchResult] {
    let embedded = try await run(on: nil, "first_push_ms", "first push after the append")
    guard RealKafka.home != nil else { return embedded }
    await processes.stopAll()
    let kafka = try RealKafka()
    return embedded
      + (try await run(on: kafka, "first_push_kafka_ms", "the same on Apache Kafka"))
  }

  private func run(
    on kafka: RealKafka?, _ name: String, _ title: String
  ) async throws(LocalRunError) -> [BenchResult] {
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes, kafka: kafka)
    defer { stack.close() }
    let people = SyntheticAudience(
      followers: (options.events + 1) * options.runs, seed: 3, topic: LocalStack.app, mutedShare: 0)
    try await options.seeding("one follower for each event", people.followers) {
      (progress) async throws(LocalRunError) in
      for number in 0..<people.followers {
        try await seed(people, number, stack)
        progress(number + 1)
      }
    }
    try await stack.startWorker()
    var medians: [Double] = []
    var tails: [Double] = []
    for run in 1...options.runs {
      let times = try await measure(people, run: run, stack)
      medians.append(times.median)
      tails.append(times.percentile(99))
      options.note(
        "latency", run,
        "median \(Figures.fixed(times.median)) ms, p99 \(Figures.fixed(times.percentile(99))) ms")
    }
    return [
      try BenchResult("\(name)_p50", "\(title), median", medians, unit: " ms", digits: 1),
      try BenchResult("\(name)_p99", "\(title), p99", tails, unit: " ms", digits: 1),
    ]
  }

  private func streamer(_ number: Int) -> String { "bench-latency-\(number)" }

  private func seed(
    _ people: SyntheticAudience, _ number: Int, _ stack: LocalStack
  ) async throws(LocalRunError) {
    let row = people.row(number).withDevice(people.token(number, device: 0))
    try await stack.seed(streamer: streamer(number), followers: 1) { _ in row }
  }

  private func measure(
    _ people: SyntheticAudience, run: Int, _ stack: LocalStack
  ) async throws(LocalRunError) -> Measurements {
    let first = (run - 1) * (options.events + 1)
    var emitted: [Int: Int64] = [:]
    for number in first...first + options.events {
      // An even spread of pauses, so that no event keeps step with anybody's timer.
      await processes.loop.wait(.milliseconds(20 + number * 37 % 60))
      let fanOut = try await MeasuredFanOut.run(
        GoLiveEvent(id: streamer(number), streamer: streamer(number)), on: stack)
      emitted[number] = fanOut.emittedAt
    }
    // The first of a run finds cold caches and is not idle running.
    emitted[first] = nil
    let ledger = try await stack.simulator.ledger()
    var times: [Double] = []
    for (number, emittedAt) in emitted {
      guard let token = TokenKey(people.token(number, device: 0)), let entry = ledger[token] else {
        throw LocalRunError(.failed, "the push of event \(streamer(number)) never arrived")
      }
      times.append(Double(entry.firstArrival - emittedAt) / 1_000)
    }
    guard let measurements = Measurements(times) else {
      throw LocalRunError(.failed, "no event was measured")
    }
    return measurements
  }
}

/// Measures binds of devices over HTTP: `PUT /v1/users/{user}/devices/{token}`, each of a user and
/// a token that nobody had, sent by wrk. First as many as there can be on this machine, which wrk
/// and Redis share; then about half of `leastBindsPerSecond`, where next to no time is lost in
/// queues.
struct APIBench: Bench {
  static let leastBindsPerSecond = 20_000.0
  static let p99LimitMilliseconds = 20.0

  private static let connections = 128
  private static let seconds = 8
  /// Between an answer and the next request of a connection: 10,000 a second on all of them, when
  /// an answer takes 2 ms.
  private static let restMilliseconds = 10

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    let wrk = try Executable.find("wrk", package: "wrk")
    let redis = try await LocalServers.redis(processes)
    let api = try await APIProcess.start(processes, redisPort: redis.port)
    let script = try processes.directory.write(Self.script, to: "bind.lua")
    func load(_ series: Int, rest: Int) async throws(LocalRunError) -> WrkReport {
      try await report([
        wrk, "-t", "1", "-c", "\(Self.connections)", "-d", "\(Self.seconds)s", "--latency", "-s",
        script, "-H", "Authorization: Bearer \(api.key)", "-H", "Content-Type: application/json",
        "http://127.0.0.1:\(api.port)", "--", "\(series)", "\(rest)",
      ])
    }
    var rates: [Double] = []
    var costs: [Double] = []
    var redisCosts: [Double] = []
    var halfRates: [Double] = []
    var p99s: [Double] = []
    for run in 1...options.runs {
      let before = (try cpu(of: api.process), try cpu(of: redis.process))
      let full = try await load(2 * run, rest: 0)
      rates.append(full.requestsPerSecond)
      costs.append((try cpu(of: api.process) - before.0) / Double(full.requests))
      redisCosts.append((try cpu(of: redis.process) - before.1) / Double(full.requests))
      let half = try await load(2 * run + 1, rest: Self.restMilliseconds)
      halfRates.append(half.requestsPerSecond)
      p99s.append(half.p99Milliseconds)
      options.note(
        "api", run,
        "\(Figures.fixed(full.requestsPerSecond)) binds a second, \(Figures.fixed(costs[run - 1])) "
          + "µs each; at \(Figures.fixed(half.requestsPerSecond)) a second p99 "
          + "\(Figures.fixed(half.p99Milliseconds)) ms")
    }
    return [
      try BenchResult(
        "api_binds_per_second", "API: binds a second", rates, unit: "", digits: 0,
        least: Self.leastBindsPerSecond),
      try BenchResult("api_cpu_us", "API: CPU a bind", costs, unit: " µs", digits: 1),
      try BenchResult(
        "api_redis_cpu_us", "API: Redis' CPU a bind", redisCosts, unit: " µs", digits: 1),
      try BenchResult(
        "api_half_per_second", "API at half: binds a second", halfRates, unit: "", digits: 0),
      try BenchResult(
        "api_half_p99_ms", "API at half: p99 of a bind", p99s, unit: " ms", digits: 1,
        limit: Self.p99LimitMilliseconds),
    ]
  }

  /// Its arguments: which series of users and tokens, and how long a connection rests.
  private static let script = """
    local number, first, rest = 0, 0, 0
    function init(arguments)
      first, rest = tonumber(arguments[1]) * 100000000, tonumber(arguments[2])
      math.randomseed(first)
      if rest == 0 then delay = nil end
    end
    function delay() return rest end
    function request()
      number = number + 1
      local half = string.format("%08x%024x", math.random(0, 0x7fffffff), first + number)
      return wrk.format(
        "PUT", "/v1/users/bench-" .. first + number .. "/devices/" .. half .. half, nil,
        '{"topic":"\(LocalStack.app)"}')
    end

    """

  private func report(_ command: [String]) async throws(LocalRunError) -> WrkReport {
    let process = try processes.start("wrk", command, isNeeded: false, isGuarded: false)
    _ = try await processes.finish(process, within: .seconds(60))
    let output = ScratchDirectory.read(process.outputFile) ?? ""
    guard let report = WrkReport(output), !report.hasErrors, report.requests > 0 else {
      throw LocalRunError(
        .failed, "not every bind was answered with a success",
        findings: ScratchDirectory.lastLines(12, of: process.outputFile))
    }
    return report
  }

  /// In microseconds, so far.
  private func cpu(of process: RunProcess) throws(LocalRunError) -> Double {
    guard let time = ProcessUsage.cpuNanoseconds(of: process.processID) else {
      throw LocalRunError(.failed, "the CPU time of \(process.name) cannot be read from /proc")
    }
    return Double(time) / 1_000
  }
}
