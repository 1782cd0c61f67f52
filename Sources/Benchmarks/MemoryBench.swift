import APNsSimulator
import Devices
import LocalStack
import Processes
import Redis
import Terminal
import Text

/// The worker's peak resident size with a small and a large audience: it must not grow with it.
/// Each run is a fresh worker, since a peak never goes down.
struct MemoryBench: Bench {
  static let ratioLimit = 1.1
  static let limitMegabytes = 100.0
  private static let small = (streamer: "bench-small", followers: 100_000)
  private static let large = (streamer: "bench-large", followers: 1_000_000)
  private static let smallPlain = (streamer: "bench-plain-small", followers: 100_000)
  private static let largePlain = (streamer: "bench-plain-large", followers: 1_000_000)
  /// Younger than Apple's word: the binding stays, and every run has the same work.
  private static let boundAt = "1767225600000"
  /// Users of a plain set that are written in one round trip.
  private static let plainChunk = 1_000
  /// Gone since before any binding: the worker has its work with them, and Redis stays as it is,
  /// so that every run is the same.
  private static let deadTokenPrefix = MagicTokens.prefix + "0412"

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes)
    defer { stack.close() }
    for audience in [Self.small, Self.large] {
      let people = SyntheticAudience(
        followers: audience.followers, seed: 2, topic: LocalStack.app,
        deadTokenPrefix: Self.deadTokenPrefix)
      try await options.seeding(
        "\(Figures.grouped(audience.followers)) followers", audience.followers
      ) { (progress) async throws(LocalRunError) in
        try await stack.seed(
          streamer: audience.streamer, followers: audience.followers, progress: progress,
          row: people.row)
      }
    }
    for (streamer, followers) in [Self.smallPlain, Self.largePlain] {
      try await seedPlain(streamer, followers, stack)
    }
    var small: [Double] = []
    var large: [Double] = []
    var smallPlain: [Double] = []
    var largePlain: [Double] = []
    for run in 1...options.runs {
      small.append(try await peak(Self.small.streamer, run, stack))
      large.append(try await peak(Self.large.streamer, run, stack))
      smallPlain.append(try await peak(Self.smallPlain.streamer, run, stack))
      largePlain.append(try await peak(Self.largePlain.streamer, run, stack))
      options.note(
        "memory", run,
        "100k followers \(Figures.fixed(small[run - 1])) MB, 1M "
          + "\(Figures.fixed(large[run - 1])) MB; plain sets, all refused: "
          + "\(Figures.fixed(smallPlain[run - 1])) and "
          + "\(Figures.fixed(largePlain[run - 1])) MB"
      )
    }
    return [
      try BenchResult(
        "rss_100k_mb", "worker's memory, 100,000 followers", small, unit: " MB", digits: 1,
        limit: Self.limitMegabytes),
      try BenchResult(
        "rss_1m_mb", "worker's memory, 1,000,000 followers", large, unit: " MB", digits: 1,
        limit: Self.limitMegabytes),
      try BenchResult.ratio(
        "rss_ratio", "memory 1,000,000 ÷ 100,000", zip(large, small).map { $0 / $1 },
        limit: Self.ratioLimit),
      try BenchResult(
        "rss_plain_refused_1m_mb", "the same, a plain set, every token refused", largePlain,
        unit: " MB", digits: 1, limit: Self.limitMegabytes),
      try BenchResult.ratio(
        "rss_plain_refused_ratio", "memory 1,000,000 ÷ 100,000, plain, all refused",
        zip(largePlain, smallPlain).map { $0 / $1 },
        limit: Self.ratioLimit),
    ]
  }

  /// One set of all followers, as another system keeps it; each has one device whose token is gone.
  private func seedPlain(
    _ streamer: String, _ followers: Int, _ stack: LocalStack
  ) async throws(LocalRunError) {
    try await options.seeding("\(Figures.grouped(followers)) in a plain set", followers) {
      (progress) async throws(LocalRunError) in
      for start in stride(from: 0, to: followers, by: Self.plainChunk) {
        try processes.checkpoint()
        let users = (start..<min(start + Self.plainChunk, followers)).map { "\(streamer)-\($0)" }
        let pipeline = RedisPipeline()
        pipeline.append(["SADD", LocalStack.plainSetPrefix + streamer] + users)
        for (offset, user) in users.enumerated() {
          let digits = 64 - Self.deadTokenPrefix.count
          let token =
            Self.deadTokenPrefix + Hexadecimal.text(start + offset, digits: digits)
          let member = "apns:production:\(LocalStack.app):\(token)"
          pipeline.append(["SADD", stack.keyspace.bindings(user: user), member])
          pipeline.append(["HSET", stack.keyspace.bound(user: user), member, Self.boundAt])
        }
        _ = try await stack.send(pipeline)
        progress(start + users.count)
      }
    }
  }

  /// In MB of 1,048,576 bytes.
  private func peak(
    _ streamer: String, _ run: Int, _ stack: LocalStack
  ) async throws(LocalRunError) -> Double {
    try await stack.startWorker()
    let fanOut = try await MeasuredFanOut.run(
      GoLiveEvent(id: "\(streamer)-\(run)", streamer: streamer), on: stack)
    guard fanOut.status.outcomes == fanOut.status.pushes, fanOut.status.pushes > 0 else {
      throw LocalRunError(.failed, "the fan-out for the memory's sake left pushes without outcome")
    }
    let bytes = try stack.workerUsage().peakResidentBytes
    try await stack.stopWorker()
    return Double(bytes) / 1_048_576
  }
}
