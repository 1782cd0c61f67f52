import Processes
import ServerProcesses
import Terminal

/// The request that h2load repeats.
package struct LoadRequest {
  enum Paths {
    case one(String)
    /// By the number of the request on its connection.
    case distinct((Int) -> String)
  }

  let body: [UInt8]
  let paths: Paths
  /// Of the header those fields that HTTP/2 and h2load do not bring.
  let fields: () -> [(name: String, value: String)]
}

/// h2load: nghttp2's own load generator, a C program that sends the same request again and again.
/// It shows the speed of a sender that has nothing to decide.
package struct LoadGenerator {
  /// A process that has sent its requests and ended.
  package struct Process {
    let requests: Int
    /// User and system time of all of it.
    let cpuMicroseconds: Double
    let requestsPerSecond: Double
    let succeeded: Int
  }

  /// The runs of one program so far.
  package struct Series {
    private var cost: MarginalCost
    private(set) var rates: [Double] = []

    /// - Parameters:
    ///   - requests: of a busy run.
    ///   - idle: those of an idle one.
    init(requests: Int, idle: Int = BenchTraffic.idleRequests) {
      cost = MarginalCost(requests: requests - idle)
    }

    mutating func add(busy: Process, idle: Process) {
      cost.add(busy: busy.cpuMicroseconds, idle: idle.cpuMicroseconds)
      rates.append(busy.requestsPerSecond)
    }

    /// CPU time a request, in microseconds.
    var costs: [Double] { cost.perRequest }

    /// The last run in a few words.
    var last: String { Figures.time(nanoseconds: (costs.last ?? .nan) * 1_000) }
  }

  private let program: String
  private let processes: ChildProcesses
  private let simulator: SimulatorProcess
  private let bodyFile: String
  private let request: LoadRequest

  package init(
    _ processes: ChildProcesses, _ simulator: SimulatorProcess, _ request: LoadRequest
  ) throws(LocalRunError) {
    program = try Executable.find("h2load", package: "nghttp2-client")
    self.processes = processes
    self.simulator = simulator
    self.request = request
    bodyFile = try processes.directory.write(
      String(decoding: request.body, as: UTF8.self), to: "body.json")
  }

  /// With Apple's requests.
  package init(_ processes: ChildProcesses, _ simulator: SimulatorProcess) throws(LocalRunError) {
    try self.init(processes, simulator, try BenchTraffic.request(simulator))
  }

  /// - Parameters:
  ///   - url: what requests go to instead of the simulator: scheme, host and port.
  ///   - mustSucceed: whether every answer must be a success.
  package func run(
    _ requests: Int, into series: inout Series, url: String? = nil, mustSucceed: Bool = true
  ) async throws(LocalRunError) {
    // The idle run reads the same paths.
    let paths = try writePaths(requests, url: url ?? "https://\(simulator.endpoint)")
    let idle = try await process(BenchTraffic.idleRequests, paths, mustSucceed: mustSucceed)
    let busy = try await process(requests, paths, mustSucceed: mustSucceed)
    series.add(busy: busy, idle: idle)
  }

  private func process(
    _ requests: Int, _ paths: String, mustSucceed: Bool
  ) async throws(LocalRunError) -> Process {
    let process = try processes.start(
      "h2load", command(requests, paths), isNeeded: false, isGuarded: false)
    let ending = try await processes.finish(process, within: .seconds(300))
    let output = ScratchDirectory.read(process.outputFile) ?? ""
    guard let said = LoadReport(output), said.done == requests else {
      throw LocalRunError(
        .failed, "h2load's output is not understood",
        findings: ScratchDirectory.lastLines(12, of: process.outputFile))
    }
    guard !mustSucceed || said.succeeded == requests else {
      throw LocalRunError(
        .failed,
        "of h2load's \(Figures.grouped(requests)) requests \(Figures.grouped(said.succeeded)) "
          + "were accepted",
        findings: ScratchDirectory.lastLines(12, of: process.outputFile))
    }
    return Process(
      requests: requests, cpuMicroseconds: ending.cpuMicroseconds,
      requestsPerSecond: said.requestsPerSecond, succeeded: said.succeeded)
  }

  /// Each of h2load's connections goes through the file from its beginning.
  private func writePaths(_ requests: Int, url: String) throws(LocalRunError) -> String {
    let perConnection = (requests + BenchTraffic.connections - 1) / BenchTraffic.connections
    return try processes.directory.write(to: "paths.txt") { write in
      switch request.paths {
      case .one(let path): write("\(url)\(path)\n")
      case .distinct(let path):
        for number in 0..<perConnection { write("\(url)\(path(number))\n") }
      }
    }
  }

  private func command(_ requests: Int, _ paths: String) -> [String] {
    var command = [
      program, "-n", "\(requests)", "-c", "\(BenchTraffic.connections)", "-m",
      "\(BenchTraffic.streamsPerConnection)", "-t", "1", "-d", bodyFile, "-i", paths,
    ]
    for (name, value) in request.fields() { command += ["-H", "\(name): \(value)"] }
    return command
  }

  /// The figures that every section with h2load shows.
  /// - Parameters:
  ///   - name: the figures' names begin with it.
  ///   - title: the same for people.
  package static func results(
    _ series: Series, name: String = "h2load", title: String = "h2load"
  ) throws(LocalRunError) -> [BenchResult] {
    [
      try BenchResult(
        "\(name)_cpu_us", "\(title): CPU a request", series.costs, unit: " µs", digits: 2),
      try BenchResult(
        "\(name)_per_second", "\(title): requests a second", series.rates, unit: "", digits: 0),
    ]
  }
}

/// The cost of one request more: busy runs less idle ones, over the requests between them. Setting
/// up is the same work each time, and a machine only ever adds to it (memory that is touched for
/// the first time costs a virtual machine dearly), so the least of the idle runs serves all: a
/// disturbed one would make a busy one look cheap.
package struct MarginalCost: Sendable, Equatable {
  private let requests: Int
  private var busy: [Double] = []
  private var idle: [Double] = []

  /// - Parameter requests: what a busy run does more than an idle one.
  package init(requests: Int) { self.requests = max(1, requests) }

  /// One run of each, in any unit.
  package mutating func add(busy: Double, idle: Double) {
    self.busy.append(busy)
    self.idle.append(idle)
  }

  /// The cost of a request in each busy run so far, in their order.
  package var perRequest: [Double] {
    let setUp = idle.min() ?? 0
    return busy.map { ($0 - setUp) / Double(requests) }
  }
}

/// The report that h2load prints at its end.
package struct LoadReport: Sendable, Equatable {
  package let requestsPerSecond: Double
  /// Requests that were answered, whatever the answer.
  package let done: Int
  /// Answers with a status of 2xx or 3xx.
  package let succeeded: Int

  /// Nil when a number is missing. Of its output these lines are read:
  ///
  ///     finished in 3.02s, 99310.12 req/s, 4.17MB/s
  ///     requests: 300000 total, 300000 started, 300000 done, 300000 succeeded, 0 failed, …
  package init?(_ output: String) {
    var requestsPerSecond: Double?
    var counts: [Substring: Int] = [:]
    for line in output.split(separator: "\n") {
      let words = line.split { $0 == " " || $0 == "," }
      for (word, next) in zip(words, words.dropFirst()) {
        if line.hasPrefix("finished in"), next == "req/s" { requestsPerSecond = Double(word) }
        if line.hasPrefix("requests:"), let count = Int(word) { counts[next] = count }
      }
    }
    guard let requestsPerSecond, requestsPerSecond.isFinite, let done = counts["done"],
      let succeeded = counts["succeeded"]
    else { return nil }
    self.requestsPerSecond = requestsPerSecond
    self.done = done
    self.succeeded = succeeded
  }
}
