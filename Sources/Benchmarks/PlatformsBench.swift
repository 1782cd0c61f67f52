import Devices
import EventLoop
import LocalStack
import Processes
import ServerProcesses
import Terminal
import WebPushSimulator

/// Measures how much a platform that fails delays the two others: it is silent, refuses our
/// credentials, or answers every push with an error of the server. Times are those of the
/// simulators' ledgers: from the event's append to the arrival of the last push to the others,
/// beside the same event without any device of the platform that fails.
struct PlatformsBench: Bench {
  static let ratioLimit = 1.3
  private static let followers = 300_000
  /// Of each push service, and how many streams a connection to it may have: so the time is that
  /// of the answers, and not of the cores that the simulators share with the worker.
  private static let latencyMilliseconds = 60
  private static let streams = 100
  private static let pollInterval = Duration.milliseconds(20)
  private static let timeout = Duration.seconds(60)

  /// A platform: its simulator, its devices, and the scripts that make it fail.
  private struct Platform {
    let name: String
    let local: LocalPlatform
    let devices: SyntheticDevices
    /// The entry of the script's `mix` by which the push service refuses our credentials.
    let refusal: String
    /// The same for an error of the server.
    let error: String

    var faults: [(name: String, mix: String)] {
      [("silent", "silence"), ("refusing credentials", refusal), ("failing", error)]
    }
  }

  let processes: ChildProcesses
  let options: BenchOptions

  private static func platforms() throws(LocalRunError) -> [Platform] {
    let browsers: SimulatedBrowsers
    do {
      browsers = try SimulatedBrowsers(seed: 1)
    } catch {
      throw LocalRunError(.failed, "no simulated browsers: \(error)")
    }
    return [
      Platform(
        name: "Apple", local: .apns(["--topic", LocalStack.app]),
        devices: SyntheticDevices(.production, share: 0.4), refusal: "InvalidProviderToken",
        error: "500"),
      Platform(
        name: "FCM", local: .fcm(), devices: SyntheticDevices(.fcm, share: 0.45),
        refusal: "expired_bearer", error: "internal"),
      Platform(
        name: "Web Push", local: .webpush(["--seed", "1"]),
        devices: SyntheticDevices(browsersOf: "main", share: 0.15) { number, isDead in
          let made = browsers.subscription(number, isGone: isDead)
          return (made.endpoint, made.publicKey, made.secret)
        }, refusal: "bad_token", error: "internal"),
    ]
  }

  func run() async throws(LocalRunError) -> [BenchResult] {
    let platforms = try Self.platforms()
    var results: [BenchResult] = []
    for (index, platform) in platforms.enumerated() {
      for fault in platform.faults {
        var ratios: [Double] = []
        for run in 1...options.runs {
          ratios.append(try await measure(platforms, failing: index, fault, run))
          await processes.stopAll()
        }
        let id = "\(platform.devices.destination.platform.name)_\(fault.name.prefix { $0 != " " })"
        results.append(
          try BenchResult.ratio(
            "others_beside_\(id)_ratio", "the others beside \(platform.name) \(fault.name) ÷ alone",
            ratios, limit: Self.ratioLimit))
      }
    }
    return results
  }

  /// How often the time alone the others need beside the platform that fails.
  private func measure(
    _ platforms: [Platform], failing: Int, _ fault: (name: String, mix: String), _ run: Int
  ) async throws(LocalRunError) -> Double {
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes,
      platforms: platforms.map(\.local))
    defer { stack.close() }
    let audience = SyntheticAudience(
      followers: 2 * Self.followers, seed: 6, topic: LocalStack.app,
      devices: platforms.map(\.devices), deadShare: 0, mutedShare: 0)
    let first = 0..<Self.followers
    let second = first.upperBound..<2 * Self.followers
    try await options.seeding("\(Figures.grouped(second.upperBound)) followers", second.upperBound)
    {
      (progress) async throws(LocalRunError) in
      /// - Parameter left: devices that are left out.
      func seed(
        _ streamer: String, _ indices: Range<Int>, without left: SyntheticDevices? = nil
      ) async throws(LocalRunError) {
        try await stack.seed(
          streamer: streamer, followers: indices.count,
          progress: { progress(indices.lowerBound + $0) }
        ) {
          let row = audience.row(indices.lowerBound + $0)
          return AudienceRow(
            user: row.user, profile: row.profile,
            bindings: row.bindings.filter { $0.destination != left?.destination },
            boundAt: row.boundAt)
        }
      }
      try await seed(Self.alone, first, without: platforms[failing].devices)
      try await seed(Self.beside, second)
    }
    for simulator in stack.simulators { try await simulator.set(script: Self.script()) }
    try await stack.startWorker()
    let others = platforms.indices.filter { $0 != failing }
    let counts = (Self.counts(audience, first), Self.counts(audience, second))
    // With the first event routes get as many connections as they need.
    _ = try await lastArrival("warm", Self.alone, others, counts.0, stack)
    let alone = try await lastArrival("alone", Self.alone, others, counts.0, stack)
    try await stack.simulators[failing].set(script: Self.script(mix: [fault.mix: 1]))
    let beside = try await lastArrival("beside", Self.beside, others, counts.1, stack)
    // The halves of the audience are not quite of one size.
    let size = others.reduce((0, 0)) { ($0.0 + counts.0[$1], $0.1 + counts.1[$1]) }
    let ratio = beside / alone * Double(size.0) / Double(size.1)
    options.note(
      "platforms", run,
      "\(platforms[failing].name) \(fault.name): the others \(Figures.fixed(alone)) ms alone, "
        + "\(Figures.fixed(beside)) ms beside it")
    return ratio
  }

  private static func script(mix: JSONOutput = [:]) -> JSONOutput {
    ["latency_ms": .integer(latencyMilliseconds), "streams": .integer(streams), "mix": mix]
  }

  private static let alone = "bench-platforms-alone"
  private static let beside = "bench-platforms-beside"

  /// Devices by their kind.
  private static func counts(_ audience: SyntheticAudience, _ indices: Range<Int>) -> [Int] {
    var counts = audience.devices.map { _ in 0 }
    for index in indices {
      for device in 0..<audience.person(index).deviceCount {
        counts[audience.kind(index, device: device)] += 1
      }
    }
    return counts
  }

  /// Milliseconds from the append until the last device of the others was asked for.
  private func lastArrival(
    _ event: String, _ streamer: String, _ others: [Int], _ expected: [Int], _ stack: LocalStack
  ) async throws(LocalRunError) -> Double {
    for other in others { try await stack.simulators[other].reset() }
    let emittedAt = try await stack.emit(
      GoLiveEvent(id: "bench-platforms-\(event)", streamer: streamer))
    let end = processes.loop.now + Self.timeout.nanoseconds
    var last: Int64 = 0
    for other in others {
      while true {
        try processes.checkpoint()
        let totals = try await stack.simulators[other].totals()
        if totals.accepted >= expected[other] {
          last = max(last, totals.lastArrival)
          break
        }
        guard processes.loop.now < end else {
          throw LocalRunError(
            .failed,
            "\(Figures.grouped(totals.accepted)) of \(Figures.grouped(expected[other])) devices of "
              + "\(stack.simulators[other].service.name) were reached in a minute")
        }
        await processes.loop.wait(Self.pollInterval)
      }
    }
    return Double(last - emittedAt) / 1_000
  }
}
