import Devices
import EventLoop
import JSON
import Keyspace
import Redis
import Text

/// Erasures that look through all of Redis, which may take longer than a client waits: such a look
/// goes on, and its id says how it ended. A look serves the requests that came before it began,
/// and no others: its end says that all that was there when they came was looked at. Has a
/// connection to Redis of its own, because such a look has long replies.
actor ErasureJobs {
  typealias Outcome = Result<ErasureCounts, DevicesError>

  enum End {
    case done(ErasureCounts)
    /// It is not done yet: what it is asked for by.
    case goesOn(id: String)
  }

  /// One look. Confined to the actor.
  private final class Job {
    let id: String
    let user: String
    let scope: UserErasure.Scope
    /// Counts of the erasure before the look.
    var erased: ErasureCounts
    var waiters: [Int: CheckedContinuation<Outcome?, Never>] = [:]
    var outcome: Outcome?
    /// A client has its id, and asks for its end in Redis.
    var isRecorded = false

    init(
      _ id: String, _ user: String, _ scope: UserErasure.Scope, after erased: ErasureCounts
    ) {
      self.id = id
      self.user = user
      self.scope = scope
      self.erased = erased
    }

    /// By bytes, as Redis tells ids apart.
    func isOf(_ user: String, _ scope: UserErasure.Scope) -> Bool {
      self.user.utf8.elementsEqual(user.utf8)
        && self.scope.looksEverywhere == scope.looksEverywhere
        && self.scope.erasesAudience == scope.erasesAudience
        && self.scope.erasesOwn == scope.erasesOwn
        && self.scope.streamers.elementsEqual(scope.streamers) { $0.utf8.elementsEqual($1.utf8) }
    }
  }

  private let loop: EventLoop
  private let redisOptions: RedisOptions
  private let keyspace: Keyspace
  private var redis: RedisClient?
  /// Those that have not ended, by their ids.
  private var jobs: [ExactText: Job] = [:]
  /// Those of them that have not begun, in the order in which they came.
  private var queue: [Job] = []
  private var running = 0
  private var lastWaiter = 0
  private var isClosed = false

  /// Each looks through all of Redis.
  private static let maximumRunning = 4
  /// A list of users who are to be forgotten fits; whoever has more waits for some to end.
  static let maximumWaiting = 100
  private static let recordInterval: Duration = .seconds(10)
  private let answeredWithin: Duration

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// - Parameter answeredWithin: less than a connection has for an answer.
  init(
    loop: EventLoop, redis: RedisOptions, keyspace: Keyspace,
    answeredWithin: Duration
  ) {
    self.loop = loop
    self.answeredWithin = answeredWithin
    redisOptions = redis
    self.keyspace = keyspace
  }

  /// Those that run fail with their connection, and no others begin.
  func close() {
    isClosed = true
    redis?.close()
    redis = nil
    let waiting = queue
    queue = []
    for job in waiting { end(job, .failure(Self.closed)) }
  }

  private static let closed = DevicesError(.redis(.closed), "the API stops")

  /// - Parameter erased: what was erased before; told with what the look finds.
  func run(
    _ user: String, _ scope: UserErasure.Scope, after erased: ErasureCounts = ErasureCounts()
  ) async throws(Problem) -> End {
    let job = try enqueue(user, scope, after: erased)
    if let outcome = await end(of: job) {
      do {
        return .done(try outcome.get())
      } catch {
        throw Problem(error)
      }
    }
    if !job.isRecorded {
      job.isRecorded = true
      beat(job.id)
    }
    // Before anybody hears of the id.
    try await record(job)
    return .goesOn(id: job.id)
  }

  /// nil: none of this id is known.
  func record(_ id: String) async throws(Problem) -> JSONObject? {
    let reply = try await asked().ask(["GET", keyspace.erasure(id)])[0]
    guard let text = reply.text else { return nil }
    return (try? JSONValue.parse(Array(text.utf8)))?.object
  }

  // MARK: the queue

  private func enqueue(
    _ user: String, _ scope: UserErasure.Scope, after erased: ErasureCounts
  ) throws(Problem) -> Job {
    guard !isClosed else { throw Problem(Self.closed) }
    if let waiting = queue.first(where: { $0.isOf(user, scope) }) {
      waiting.erased = waiting.erased + erased
      return waiting
    }
    guard queue.count < Self.maximumWaiting else {
      throw Problem(
        .tooManyRequests, "\(Self.maximumWaiting) users wait to be forgotten: ask again soon",
        headers: ["Retry-After": "5"])
    }
    let job = Job(
      Hexadecimal.text(loop.randomNumber(), digits: 16), user, scope, after: erased)
    jobs[ExactText(job.id)] = job
    queue.append(job)
    beginWaiting()
    return job
  }

  private func beginWaiting() {
    while running < Self.maximumRunning, !queue.isEmpty {
      let id = queue.removeFirst().id
      running += 1
      Task { await perform(id) }
    }
  }

  private func perform(_ id: String) async {
    guard let job = jobs[ExactText(id)] else { return }
    let outcome: Outcome
    do throws(DevicesError) {
      outcome = .success(
        try await UserErasure(redis: try client(), keyspace: keyspace)
          .run(job.user, job.scope, writes: true) + job.erased)
    } catch {
      outcome = .failure(error)
    }
    running -= 1
    end(job, outcome)
    beginWaiting()
    // Where Redis is away its record ends soon, and the client asks for the erasure again.
    if job.isRecorded { try? await record(job) }
  }

  private func end(_ job: Job, _ outcome: Outcome) {
    job.outcome = outcome
    jobs[ExactText(job.id)] = nil
    let waiters = job.waiters
    job.waiters = [:]
    for waiter in waiters.values { waiter.resume(returning: outcome) }
  }

  /// Returns when the job has ended; nil after a while.
  private func end(of job: Job) async -> Outcome? {
    lastWaiter += 1
    let number = lastWaiter
    return await withCheckedContinuation { continuation in
      // Looked at here: others run between an await and what it calls.
      if let outcome = job.outcome { return continuation.resume(returning: outcome) }
      job.waiters[number] = continuation
      loop.schedule(after: answeredWithin) {
        job.waiters.removeValue(forKey: number)?.resume(returning: nil)
      }
    }
  }

  // MARK: what is told of those that take long

  private func beat(_ id: String) {
    loop.schedule(after: Self.recordInterval) { [weak self] in
      self?.assumeIsolated { jobs in _ = Task { await jobs.tellProgress(of: id) } }
    }
  }

  private func tellProgress(of id: String) async {
    guard let job = jobs[ExactText(id)] else { return }
    try? await record(job)
    beat(id)
  }

  /// Writes the job's record. If the job ends meanwhile, writes it again: its end is never
  /// overwritten.
  private func record(_ job: Job) async throws(Problem) {
    var isKnownToHaveEnded: Bool
    repeat {
      isKnownToHaveEnded = job.outcome != nil
      try await write(job)
    } while !isKnownToHaveEnded && job.outcome != nil
  }

  /// Nothing in it names the user.
  private func write(_ job: Job) async throws(Problem) {
    var members: [(String, JSONValue)] = [("erasure", .string(job.id))]
    var lifetime = Keyspace.erasureLifetimeSeconds
    switch job.outcome {
    case nil:
      members += [("state", "running"), ("complete", false)]
      lifetime = Keyspace.runningErasureLifetimeSeconds
    case .success(let counts): members += [("state", "done")] + counts.members
    case .failure(let error):
      members += [
        ("state", "failed"), ("complete", false), ("why", .string(Problem(error).detail)),
      ]
    }
    _ = try await asked().ask([
      "SET", keyspace.erasure(job.id), JSONText.compact(.object(JSONObject(members))), "EX",
      String(lifetime),
    ])
  }

  private func asked() throws(Problem) -> RedisClient {
    do { return try client() } catch { throw Problem(error) }
  }

  private func client() throws(DevicesError) -> RedisClient {
    guard !isClosed else { throw Self.closed }
    if let redis { return redis }
    let made = RedisClient(options: redisOptions, loop: loop, log: { _ in })
    made.start()
    redis = made
    return made
  }
}

extension ErasureCounts {
  /// As answers tell them.
  var members: [(String, JSONValue)] {
    let erased: [(String, Int)] = [
      ("devices", devices), ("set_aside", setAside), ("tokens", tokens),
      ("profile_fields", profileFields), ("events_last_hour", reached), ("verdicts", verdicts),
      ("follows", follows), ("tags", tags), ("leftovers", leftovers), ("traces", traces),
    ]
    return [
      ("complete", .bool(isComplete && unreadable == 0)),
      ("erased", .object(JSONObject(erased.map { ($0, .integer(Int64($1))) }))),
      ("streamers_looked_at", .integer(Int64(streamers))),
      ("unreadable", .integer(Int64(unreadable))),
    ]
  }
}
