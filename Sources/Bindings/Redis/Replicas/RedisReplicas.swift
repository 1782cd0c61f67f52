import EventLoop
import Text
import Transport

/// The replicas of one master, for reads that may lag behind it: who they are, how far each is, and
/// a connection to each. The master is asked (`ReplicaLag`); it is never read from here. Belongs to
/// the master's connection, and is confined to its loop.
final class RedisReplicas {
  private unowned let master: RedisConnection
  private let limit: Duration
  private let counts: RedisCounts
  private var lag: ReplicaLag
  private var connections: [Endpoint: RedisConnection] = [:]
  private var timer: LoopTimer?
  private var isClosed = false
  /// Replicas are read from one after the other.
  private var turn = 0
  /// Whether the log says that replicas are read from; nil before it says anything.
  private var told: Bool?
  private var startedAt: UInt64 = 0

  init(of master: RedisConnection, limit: Duration, counting counts: RedisCounts) {
    self.master = master
    self.limit = limit
    self.counts = counts
    lag = ReplicaLag(limit: limit)
  }

  private var options: RedisOptions { master.options }
  private var loop: EventLoop { master.loop }

  func start() {
    startedAt = loop.now
    ask(after: interval)
  }

  /// There is a connection to the master.
  func begin() {
    timer?.cancel()
    ask(after: .zero)
  }

  func close() {
    isClosed = true
    timer?.cancel()
    let all = inOrder
    connections = [:]
    for connection in all { connection.close() }
  }

  /// By their names.
  private var inOrder: [RedisConnection] {
    connections.values.sorted { $0.options.name < $1.options.name }
  }

  func distrust(over why: String) {
    for connection in inOrder { connection.distrust(over: why) }
  }

  // MARK: who there is

  /// Some times within the limit: an answer that comes late is no reason to leave a replica.
  private var interval: Duration { min(.seconds(1), limit / 8) }

  private func ask(after delay: Duration) {
    guard !isClosed else { return }
    timer = loop.schedule(after: delay) { [weak self] in self?.ask() }
  }

  private func ask() {
    tell()
    guard master.isConnected, master.refusal == nil else { return ask(after: interval) }
    let askedAt = loop.now
    master.ask(["INFO", "replication"]) { [weak self] answer in
      guard let self, !isClosed else { return }
      // Of a master that does not answer the replicas grow older, and are left in time.
      if let answer { take(answer, askedAt) }
      ask(after: interval)
    }
  }

  private func take(_ reply: RedisReply, _ askedAt: UInt64) {
    if let report = ReplicationReport(reply) {
      lag.take(report, askedAt: askedAt)
    } else {
      lag.forget()
    }
    let named = Set(lag.replicas.map(\.endpoint))
    for connection in inOrder where !named.contains(connection.options.endpoint) {
      connections[connection.options.endpoint] = nil
      connection.close()
    }
    for endpoint in lag.replicas.map(\.endpoint) where connections[endpoint] == nil {
      // Why a replica is not used is logged when none is left: see `tell`.
      let connection = RedisConnection(
        options: options.at(endpoint), purpose: purpose, loop: loop, log: { _ in },
        random: master.random)
      connections[endpoint] = connection
      connection.start()
    }
  }

  private var purpose: ConnectionPurpose {
    .replica(isOfCluster: master.isOfCluster) { [weak self] in self?.obstacle($0) }
  }

  /// Why a replica that has just been connected to is of no use. It may have been restarted, with
  /// what it had long ago, or copy another master by now.
  private func obstacle(_ report: ReplicationReport?) -> RedisError? {
    guard let report else {
      return RedisError(.refused, "it does not answer INFO replication: grant it")
    }
    guard report.role == .replica(isLinked: true) else {
      return RedisError(.loading, "it is not connected to a master")
    }
    guard report.history == lag.history else {
      return RedisError(.loading, "it has not what this master has (master_replid)")
    }
    let now = loop.clock
    guard lag.isFresh(at: report.offset, now: now) else {
      return RedisError(.loading, lagText(lag.shownLag(at: report.offset, now: now)))
    }
    return nil
  }

  // MARK: reading

  /// `timeout` is the whole read's: a replica that is late gets a quarter of it.
  func read(
    _ pipeline: RedisPipeline, _ replies: RedisReplies, timeout: Duration,
    then: @escaping (ReplicaAnswer) -> Void
  ) {
    guard let replica = next() else {
      counts.replicaFallBacks += 1
      return then(.none)
    }
    let began = loop.clock
    let name = options.name
    let execution = Execution(pipeline, replies, timeout: timeout / 4)
    execution.whenFinished = { [counts, unowned execution] in
      let answer = ReplicaAnswer(execution)
      if answer == .none { counts.replicaFallBacks += 1 } else { counts.replicaReads += 1 }
      // Slots move; anything else it would say again.
      if execution.failure == nil, let refusal = ReplicaAnswer.refusal(in: execution.replies),
        !refusal.kind.isOfMove
      {
        replica.handle(.lost(RedisError(refusal, quotes: false)))
      }
      // A read with little time left would take the master's connection with it when that is over.
      let passed = self.loop.clock &- began
      let isLate = passed >= timeout.nanoseconds / 10 * 9
      then(isLate && answer.needsMaster ? .failed(Self.late(name)) : answer)
    }
    replica.submit(execution)
  }

  /// As `execute` of a connection: at a replica, and what it does not answer at the master.
  /// `timeout` and `maximumReplyBytes` are for both together.
  func read(
    _ pipeline: RedisPipeline, timeout: Duration, maximumReplyBytes: Int
  ) async throws(RedisError) -> RedisReplies {
    guard pipeline.count > 0 else { return RedisReplies(expecting: 0, maximumBytes: 0) }
    let began = loop.clock
    let replies = RedisReplies(expecting: pipeline.count, maximumBytes: maximumReplyBytes)
    let answer = await withCheckedContinuation { continuation in
      read(pipeline, replies, timeout: timeout) { continuation.resume(returning: $0) }
    }
    let passed = Int64(clamping: loop.clock &- began)
    let rest = timeout - .nanoseconds(passed)
    switch answer {
    case .failed(let error): throw error
    case .none:
      return try await master.execute(pipeline, timeout: rest, maximumReplyBytes: maximumReplyBytes)
    case .whole(let missing):
      guard !missing.isEmpty, let lacking = pipeline.selecting(missing) else { return replies }
      let others = try await master.execute(
        lacking, timeout: rest, maximumReplyBytes: maximumReplyBytes - replies.byteCount)
      return RedisReplies(replies, replacing: missing, by: others)
    }
  }

  private func next() -> RedisConnection? {
    let usable = usable(now: loop.clock)
    guard !usable.isEmpty else { return nil }
    turn = (turn + 1) % usable.count
    return usable[turn]
  }

  private func usable(now: UInt64) -> [RedisConnection] {
    lag.fresh(now: now).compactMap { connections[$0] }.filter {
      $0.isConnected && $0.refusal == nil
    }
  }

  private static func late(_ name: String) -> RedisError {
    RedisError(.timeout, "\(name): a replica was late, and there is no time to ask the master")
  }

  // MARK: for people

  private func lagText(_ lag: Duration) -> String {
    "it is \(DurationText.text(lag)) behind, over \(DurationText.text(limit))"
  }

  /// Nil before the master has said anything of them.
  var state: [RedisReplica]? {
    guard !lag.isEmpty else { return nil }
    let now = loop.clock
    return lag.replicas.map {
      RedisReplica(
        master: options.name, name: "\($0.endpoint)",
        lag: lag.shownLag(at: $0.offset, now: now), obstacle: obstacle(of: $0, now: now))
    }
  }

  private func obstacle(of replica: ReplicationReport.Replica, now: UInt64) -> String? {
    guard lag.isFresh(at: replica.offset, now: now) else {
      return lagText(lag.shownLag(at: replica.offset, now: now))
    }
    let connection = connections[replica.endpoint]
    if connection?.isConnected == true { return nil }
    return connection?.lastFailure?.description ?? "it is being connected to"
  }

  /// A line at each change. At the beginning replicas have some time to become of use.
  private func tell() {
    let now = loop.clock
    let count = usable(now: now).count
    let isReading = count > 0
    let isEarly = told == nil && now &- startedAt <= limit.nanoseconds
    guard isReading != told, isReading || !isEarly else { return }
    told = isReading
    let what = "\(options.name): bindings and profiles are read from"
    master.log(isReading ? "\(what) \(count) of its replicas" : "\(what) the master: \(why)")
  }

  private var why: String {
    guard let state else { return "it has not said who its replicas are" }
    guard let first = state.first else { return "it names no replica that is online" }
    return "\(first.name): \(first.obstacle ?? "it was away")"
  }
}

/// Whether the replies of a replica may be used.
enum ReplicaAnswer: Equatable {
  /// All replies are there. Only the master knows keys that the replica lacks (`missing`): they may
  /// be new, or moved away with their slot.
  case whole(missing: [Int])
  /// The master would not answer it better, or there is no time left to ask it.
  case failed(RedisError)
  /// The master is to be asked for all of it.
  case none

  init(_ execution: Execution) {
    if let failure = execution.failure {
      self = failure.code == .replyTooLarge ? .failed(failure) : .none
    } else if Self.refusal(in: execution.replies) != nil {
      self = .none
    } else {
      self = .whole(missing: Self.missing(in: execution.replies))
    }
  }

  var needsMaster: Bool {
    switch self {
    case .whole(let missing): !missing.isEmpty
    case .failed: false
    case .none: true
    }
  }

  /// The first error that the master may not answer as well: what a key holds is the same there.
  static func refusal(in replies: RedisReplies) -> RedisErrorReply? {
    for index in 0..<replies.count {
      if let error = replies[index].error, error.kind != .wrongType { return error }
    }
    return nil
  }

  private static func missing(in replies: RedisReplies) -> [Int] {
    (0..<replies.count).filter { replies[$0].isMissing }
  }
}

extension RedisErrorReply.Kind {
  /// The slot is, or goes, elsewhere; a node of the cluster says so that is well.
  var isOfMove: Bool {
    switch self {
    case .moved, .ask, .tryAgain, .clusterDown: true
    default: false
    }
  }
}

extension RedisReply {
  /// As a key answers that is not there: null, or an array without anything but nulls.
  fileprivate var isMissing: Bool {
    switch kind {
    case .null: true
    case .array: (0..<count).allSatisfy { self[$0].kind == .null }
    case .string, .integer, .status, .error: false
    }
  }
}

/// How far the replicas of one master may be behind it, by our own clock alone. Pure.
///
/// The master is asked now and then how much it has written. When it said `n` to a question that we
/// sent at `t`, then whoever has `n` has all that was written before `t`, so that what it answers
/// is no older than that. Nobody's clock but ours is read, and no key is written.
struct ReplicaLag {
  /// Two minutes of answers, at one a second.
  static let maximumSamples = 128
  /// No connections are made to more of them.
  static let maximumReplicas = 16

  private struct Sample {
    /// By the loop's clock, before the question was sent.
    let askedAt: UInt64
    let offset: Int64
  }

  /// A replica that lags more is not read from.
  let limit: Duration
  private(set) var history: String?
  /// As the master named them last.
  private(set) var replicas: [ReplicationReport.Replica] = []
  /// Oldest first; offsets grow from one to the next.
  private var samples: [Sample] = []

  init(limit: Duration) { self.limit = limit }

  /// Nothing was heard of the master yet, or what was heard holds no more.
  var isEmpty: Bool { samples.isEmpty }

  mutating func take(_ report: ReplicationReport, askedAt: UInt64) {
    guard report.role == .master else { return forget() }
    if report.history != history || report.offset < samples.last?.offset ?? 0 { samples = [] }
    history = report.history
    // While nothing is written the last answer says all that those before it said.
    if samples.last?.offset == report.offset { samples.removeLast() }
    if samples.count == Self.maximumSamples { samples.removeFirst() }
    samples.append(Sample(askedAt: askedAt, offset: report.offset))
    replicas = Array(report.replicas.prefix(Self.maximumReplicas))
  }

  /// The master does not say how far it is, or is none any more.
  mutating func forget() {
    history = nil
    samples = []
    replicas = []
  }

  /// A replica with so much lacks nothing older than this. Nil: it lags more than we remember.
  func lag(at offset: Int64, now: UInt64) -> Duration? {
    samples.last { $0.offset <= offset }.map { Self.time(from: $0.askedAt, to: now) }
  }

  func isFresh(at offset: Int64, now: UInt64) -> Bool {
    lag(at: offset, now: now).map { $0 <= limit } ?? false
  }

  /// Those that can be read from, as far as the master knows.
  func fresh(now: UInt64) -> [Endpoint] {
    replicas.filter { isFresh(at: $0.offset, now: now) }.map(\.endpoint)
  }

  /// For people. Of one that is further behind than we remember, as long as that is.
  func shownLag(at offset: Int64, now: UInt64) -> Duration {
    lag(at: offset, now: now) ?? samples.first.map { Self.time(from: $0.askedAt, to: now) } ?? .zero
  }

  private static func time(from: UInt64, to now: UInt64) -> Duration {
    .nanoseconds(Int64(clamping: now > from ? now - from : 0))
  }
}
