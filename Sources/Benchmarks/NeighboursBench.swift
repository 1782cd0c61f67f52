import APNsSimulator
import Devices
import EventLoop
import Keyspace
import LocalStack
import Model
import Processes
import ServerProcesses
import Terminal
import Text

/// Measures how much pushes that cannot be sent delay those that can: devices that Apple puts off
/// for ever, an environment that cannot be reached, a push whose credentials are refused. Times are
/// those of the simulator's ledger: from the event's append to the arrival of the last healthy
/// push.
struct NeighboursBench: Bench {
  static let ratioLimit = 2.0
  static let firstPushLimitMilliseconds = 1_000.0
  private static let segments = 64
  private static let followersPerSegment = 201
  /// Of a healthy event beside a refused one.
  private static let smallAudience = 20

  /// The state of one device of each segment, or of all of them.
  private enum Kind: Int {
    /// All are healthy.
    case healthy = 1
    /// One of each segment is answered 429, always.
    case sticky
    /// All belong to the sandbox, where nobody listens.
    case unreachable
  }

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes,
      platforms: [.apns(closesSandbox: true)])
    defer { stack.close() }
    try await stack.startWorker()
    var alone: [Double] = []
    var besideSticky: [Double] = []
    var besideClosed: [Double] = []
    var besideRefused: [Double] = []
    for run in 1...options.runs {
      alone.append(try await lastArrival(.healthy, 4 * run, stack))
      besideSticky.append(try await lastArrival(.sticky, 4 * run + 1, stack))
      try await seed(.unreachable, 4 * run + 2, stack)
      _ = try await stack.emit(event(.unreachable, 4 * run + 2))
      besideClosed.append(try await lastArrival(.healthy, 4 * run + 3, stack))
      besideRefused.append(try await firstBesideRefused(run, stack))
      options.note(
        "beside", run,
        "alone \(Figures.fixed(alone[run - 1])) ms, beside sticky devices "
          + "\(Figures.fixed(besideSticky[run - 1])) ms, beside a closed sandbox "
          + "\(Figures.fixed(besideClosed[run - 1])) ms, first push beside a refused one "
          + "\(Figures.fixed(besideRefused[run - 1])) ms")
    }
    return [
      try BenchResult(
        "healthy_alone_ms", "12,864 healthy pushes, alone", alone, unit: " ms", digits: 0),
      try BenchResult.ratio(
        "healthy_beside_sticky_ratio", "beside a sticky device a segment ÷ alone",
        zip(besideSticky, alone).map { $0 / $1 }, limit: Self.ratioLimit),
      try BenchResult.ratio(
        "healthy_beside_closed_sandbox_ratio", "beside a closed sandbox ÷ alone",
        zip(besideClosed, alone).map { $0 / $1 }, limit: Self.ratioLimit),
      try BenchResult(
        "first_push_beside_refused_ms", "first push beside a refused one", besideRefused,
        unit: " ms", digits: 1, limit: Self.firstPushLimitMilliseconds),
    ]
  }

  // MARK: one fan-out

  private func name(_ kind: Kind, _ number: Int) -> String { "bench-beside-\(kind)-\(number)" }

  private func event(_ kind: Kind, _ number: Int) -> GoLiveEvent {
    GoLiveEvent(id: name(kind, number), streamer: name(kind, number))
  }

  /// Milliseconds from the append until the last healthy device was asked for.
  private func lastArrival(
    _ kind: Kind, _ number: Int, _ stack: LocalStack
  ) async throws(LocalRunError) -> Double {
    try await seed(kind, number, stack)
    let fanOut = try await MeasuredFanOut.run(event(kind, number), on: stack)
    let ledger = try await stack.simulator.ledger()
    var last: Int64 = 0
    for index in 0..<Self.segments * Self.followersPerSegment
    where !isSticky(kind, index) {
      guard let token = TokenKey(token(kind, index, number)), let entry = ledger[token],
        entry.accepted == 1
      else {
        throw LocalRunError(
          .failed, "a healthy push of \(name(kind, number)) was not accepted once")
      }
      last = max(last, entry.firstArrival)
    }
    return Double(last - fanOut.emittedAt) / 1_000
  }

  /// Followers are dealt to the shards as the sharding rule says; the first of each shard is the
  /// sticky one.
  private func seed(_ kind: Kind, _ number: Int, _ stack: LocalStack) async throws(LocalRunError) {
    let followers = Self.segments * Self.followersPerSegment
    try await stack.seed(
      streamer: name(kind, number), followers: followers,
      expected: Self.segments * Keyspace.targetShardFollowers
    ) {
      AudienceRow(
        user: user(kind, $0, number), token: token(kind, $0, number),
        at: kind == .unreachable ? .sandbox : .production)
    }
  }

  private func user(_ kind: Kind, _ index: Int, _ number: Int) -> String {
    "beside-\(kind)-\(number)-\(index)"
  }

  /// One follower in so many is sticky: each segment has about one.
  private func isSticky(_ kind: Kind, _ index: Int) -> Bool {
    kind == .sticky && index % Self.followersPerSegment == 0
  }

  private func token(_ kind: Kind, _ index: Int, _ number: Int) -> String {
    let start = isSticky(kind, index) ? MagicTokens.prefix + "0429" : "beef"
    let rest = kind.rawValue << 48 | number << 24 | index
    return start + Hexadecimal.text(rest, digits: 64 - start.count)
  }

  // MARK: a refused push

  /// Milliseconds from the append of a healthy event to its first push, while a push of another
  /// event of the same app is answered 403.
  private func firstBesideRefused(
    _ run: Int, _ stack: LocalStack
  ) async throws(LocalRunError) -> Double {
    let refused = "bench-refused-\(run)"
    let healthy = "bench-healthy-\(run)"
    try await seedSmall(refused, 1, MagicTokens.prefix + "040f", run, stack)
    try await seedSmall(healthy, Self.smallAudience, "cafe", run, stack)
    _ = try await stack.emit(GoLiveEvent(id: refused, streamer: refused))
    // Until Apple has refused it.
    guard let first = TokenKey(smallToken(MagicTokens.prefix + "040f", 0, run)) else {
      throw LocalRunError(.failed, "the refused token is none")
    }
    while try await stack.simulator.ledger()[first] == nil {
      try processes.checkpoint()
      await processes.loop.wait(.milliseconds(20))
    }
    let fanOut = try await MeasuredFanOut.run(
      GoLiveEvent(id: healthy, streamer: healthy), on: stack)
    let ledger = try await stack.simulator.ledger()
    let arrivals = (0..<Self.smallAudience).compactMap { index in
      TokenKey(smallToken("cafe", index, run)).flatMap { ledger[$0]?.firstArrival }
    }
    guard arrivals.count == Self.smallAudience, let earliest = arrivals.min() else {
      throw LocalRunError(.failed, "a healthy push of \(healthy) never arrived")
    }
    return Double(earliest - fanOut.emittedAt) / 1_000
  }

  private func seedSmall(
    _ streamer: String, _ followers: Int, _ prefix: String, _ run: Int, _ stack: LocalStack
  ) async throws(LocalRunError) {
    try await stack.seed(streamer: streamer, followers: followers) {
      AudienceRow(user: "\(streamer)-\($0)", token: smallToken(prefix, $0, run))
    }
  }

  private func smallToken(_ prefix: String, _ index: Int, _ run: Int) -> String {
    prefix + Hexadecimal.text(run << 16 | index, digits: 64 - prefix.count)
  }
}
