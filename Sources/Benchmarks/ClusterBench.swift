import EventLoop
import Keyspace
import LocalStack
import Processes
import Redis
import ServerProcesses
import Terminal

/// The same events on one Redis and on a Redis Cluster of three masters, one after the other in
/// each run: what the worker pays for the dividing of pages among nodes, and how much more these
/// could serve, by the CPU time of the busiest. There are three events, so that what is recorded of
/// each is at another master.
struct ClusterBench: Bench {
  static let ratioLimit = 1.15
  static let leastCapacity = 2.5
  private static let streamer = "bench-cluster"

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    var single: [Served] = []
    var cluster: [Served] = []
    for run in 1...options.runs {
      single.append(try await measure(on: nil, run))
      cluster.append(try await measure(on: try Self.cluster(), run))
      options.note("cluster", run, "one Redis \(Self.text(single)), three \(Self.text(cluster))")
    }
    let pairs = Array(zip(single, cluster))
    return [
      try BenchResult(
        "cluster_single_cpu_us", "worker on one Redis: CPU a push",
        single.map(\.cpuMicrosecondsPerPush), unit: " µs", digits: 2),
      try BenchResult(
        "cluster_cpu_us", "worker on three masters: CPU a push",
        cluster.map(\.cpuMicrosecondsPerPush), unit: " µs", digits: 2),
      try BenchResult.ratio(
        "cluster_ratio", "worker on three masters ÷ on one Redis",
        pairs.map { $1.cpuMicrosecondsPerPush / $0.cpuMicrosecondsPerPush },
        limit: Self.ratioLimit),
      try BenchResult(
        "cluster_single_redis_cpu_us", "one Redis: CPU a push",
        single.map(\.redisMicrosecondsPerPush), unit: " µs", digits: 2),
      try BenchResult(
        "cluster_redis_cpu_us", "three masters together: CPU a push",
        cluster.map(\.redisMicrosecondsPerPush), unit: " µs", digits: 2),
      try BenchResult.ratio(
        "cluster_capacity", "pushes a CPU second of the busiest of three ÷ of one Redis",
        pairs.map { $0.busiestMicrosecondsPerPush / $1.busiestMicrosecondsPerPush },
        least: Self.leastCapacity),
    ]
  }

  private static func cluster() throws(LocalRunError) -> RedisClusterProcess {
    do {
      return try RedisClusterProcess(hasReplicas: false)
    } catch {
      throw LocalRunError(.failed, "no Redis Cluster could be started", findings: ["\(error)"])
    }
  }

  private static func text(_ served: [Served]) -> String {
    guard let last = served.last else { return "" }
    let worker = Figures.time(nanoseconds: last.cpuMicrosecondsPerPush * 1_000)
    return worker + " and " + Figures.time(nanoseconds: last.redisMicrosecondsPerPush * 1_000)
  }

  private func measure(
    on cluster: RedisClusterProcess?, _ run: Int
  ) async throws(LocalRunError) -> Served {
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes,
      platforms: [.apns(BenchTraffic.simulatorOptions)], cluster: cluster)
    defer { stack.close() }
    let audience = BenchAudience(streamer: Self.streamer, options: options)
    try await audience.seed(stack)
    try await stack.startWorker()
    try await audience.warm(stack)
    var served = Served()
    for master in 0..<Self.masters {
      served.add(try await audience.fanOut(Self.name(run, at: master), on: stack))
    }
    await processes.stopAll()
    return served
  }

  /// Of an event whose keys are at this master of a cluster, which has as many slots as the others.
  private static func name(_ run: Int, at master: Int) -> String {
    let names = (0...).lazy.map { "\(run)-\($0)" }
    return names.first { name in
      let slot = RedisSlot(Keyspace().event(id: "\(streamer)-\(name)")).number
      return slot * masters / RedisSlot.count == master
    } ?? ""
  }

  private static let masters = 3

  /// The cost of some events together.
  private struct Served {
    private var pushes = 0
    private var worker: UInt64 = 0
    private var redis: [UInt64] = []

    mutating func add(_ fanOut: MeasuredFanOut) {
      pushes += fanOut.sentPushes
      worker += fanOut.workerCPUNanoseconds
      let more = fanOut.redisCPUNanoseconds
      redis = redis.isEmpty ? more : zip(redis, more).map { $0 + $1 }
    }

    var cpuMicrosecondsPerPush: Double { perPush(worker) }
    var redisMicrosecondsPerPush: Double { perPush(redis.reduce(0, +)) }
    var busiestMicrosecondsPerPush: Double { perPush(redis.max() ?? 0) }

    private func perPush(_ nanoseconds: UInt64) -> Double {
      pushes > 0 ? Double(nanoseconds) / 1_000 / Double(pushes) : .nan
    }
  }
}
