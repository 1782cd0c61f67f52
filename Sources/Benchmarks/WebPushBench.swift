import Processes
import Terminal
import WebPushSimulator

/// The sending path to the browsers' push services, and of it the cryptography alone: with secrets
/// that are known, with secrets that are computed for each message, and with a key pair for each.
///
/// CPU time as in `DeliverBench`. An idle run sends one push to each subscription, so that what
/// comes beyond it finds in the cache what may be there.
struct WebPushBench: Bench {
  /// A second of CPU time, with cached secrets.
  static let leastPushesPerSecond = 25_000.0
  /// Without cached secrets a push costs many times as much.
  private static let uncachedShare = 10

  /// CPU time a push.
  private struct Costs {
    let pushes: Int
    var sending: LoadGenerator.Series
    var encryption: LoadGenerator.Series

    init(pushes: Int) {
      self.pushes = pushes + WebPushTraffic.subscriptions
      sending = LoadGenerator.Series(requests: self.pushes, idle: WebPushTraffic.subscriptions)
      encryption = sending
    }

    /// All but the cryptography.
    var rest: [Double] { zip(sending.costs, encryption.costs).map { $0 - $1 } }
  }

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    // On a thread of this process, whose CPU time is in no figure.
    let simulator = WebPushSimulator(
      options: WebPushTraffic.simulatorOptions(directory: processes.directory.file("webpush")),
      log: { _ in })
    let results: Result<[BenchResult], LocalRunError>
    do throws(LocalRunError) {
      results = .success(try await measure(try await readyFile(of: simulator)))
    } catch {
      results = .failure(error)
    }
    await simulator.stop()
    return try results.get()
  }

  /// Starts the simulator, and writes down where it is.
  private func readyFile(of simulator: WebPushSimulator) async throws(LocalRunError) -> String {
    let address: WebPushSimulatorAddress
    do {
      address = try await simulator.start()
    } catch {
      throw LocalRunError(.failed, "\(error)")
    }
    let ready: JSONOutput = [
      "host": .text(address.host), "port": .integer(address.port),
      "ca_file": .text(address.authorityFile),
    ]
    return try processes.directory.write(ready.serialized(), to: "webpush.json")
  }

  private func measure(_ readyFile: String) async throws(LocalRunError) -> [BenchResult] {
    var results: [BenchResult] = []
    var all = WebPushTraffic.Secrets.allCases.map { secrets in
      let share = secrets == .cached ? 1 : Self.uncachedShare
      return (secrets: secrets, costs: Costs(pushes: max(1_000, options.pushes / share)))
    }
    for run in 1...options.runs {
      for index in all.indices {
        try await measure(all[index].secrets, into: &all[index].costs, readyFile)
        let (secrets, costs) = all[index]
        options.note(
          "webpush", run,
          "\(secrets): \(costs.sending.last), of it cryptography \(costs.encryption.last)")
      }
    }
    for (secrets, costs) in all { results += try Self.results(secrets, costs) }
    return results
  }

  private func measure(
    _ secrets: WebPushTraffic.Secrets, into costs: inout Costs, _ readyFile: String
  ) async throws(LocalRunError) {
    func process(
      _ work: BenchSender.Work, _ pushes: Int
    ) async throws(LocalRunError) -> LoadGenerator.Process {
      try await BenchSender.measure(
        BenchSender.Order(work, secrets: secrets, pushes: pushes, readyFile: readyFile), processes)
    }
    let idle = WebPushTraffic.subscriptions
    let idleSender = try await process(.webpush, idle)
    costs.sending.add(busy: try await process(.webpush, costs.pushes), idle: idleSender)
    let idleEncryption = try await process(.encryption, idle)
    costs.encryption.add(
      busy: try await process(.encryption, costs.pushes), idle: idleEncryption)
  }

  private static func results(
    _ secrets: WebPushTraffic.Secrets, _ costs: Costs
  ) throws(LocalRunError) -> [BenchResult] {
    let (name, title) =
      switch secrets {
      case .cached: ("webpush", "Web Push, secrets cached")
      case .uncached: ("webpush_uncached", "Web Push, secrets not cached")
      case .fresh: ("webpush_fresh", "Web Push, a key pair a message")
      }
    let results = [
      try BenchResult(
        "\(name)_cpu_us", "\(title): CPU a push", costs.sending.costs, unit: " µs", digits: 2),
      try BenchResult(
        "\(name)_encryption_us", "of it cryptography", costs.encryption.costs, unit: " µs",
        digits: 2),
      try BenchResult("\(name)_rest_us", "of it the rest", costs.rest, unit: " µs", digits: 2),
    ]
    guard secrets == .cached else { return results }
    return results + [
      try BenchResult(
        "webpush_per_core", "the same: pushes a second of CPU time",
        costs.sending.costs.map { 1e6 / $0 }, unit: "", digits: 0, least: leastPushesPerSecond)
    ]
  }
}
