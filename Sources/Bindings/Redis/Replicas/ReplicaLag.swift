import Transport

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

  /// Who is further behind is not read from.
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

  /// Who has so much lacks nothing older than this. Nil: it is further behind than we remember.
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
