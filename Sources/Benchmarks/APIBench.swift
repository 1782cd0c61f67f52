import LocalStack
import Processes
import ServerProcesses
import Telemetry
import Terminal

/// What binds of devices cost by the HTTP interface: `PUT /v1/users/{user}/devices/{token}`, each
/// of a user and a token that nobody had, sent by wrk. First as many as there can be on this
/// machine, which wrk and Redis share; then about half of `leastBindsPerSecond`, where next to
/// no time is lost in queues.
package struct APIBench {
  static let leastBindsPerSecond = 20_000.0
  static let p99LimitMilliseconds = 20.0

  private static let connections = 128
  private static let seconds = 8
  /// Between an answer and the next request of a connection: 10,000 a second on all of them, when
  /// an answer takes 2 ms.
  private static let restMilliseconds = 10

  package let processes: ChildProcesses
  package let options: BenchOptions

  package func run() async throws(LocalRunError) -> [BenchResult] {
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
