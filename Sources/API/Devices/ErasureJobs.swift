import Devices
import EventLoop
import Keyspace
import Redis

/// Users who are being forgotten. Looking through every streamer may take longer than a client
/// waits: it goes on, and whoever asks for the same again waits for its end. What was written for
/// the user since it began goes then, too. With a connection to Redis of its own, because such a
/// look has long replies.
actor ErasureJobs {
  private typealias Outcome = Result<ErasureCounts, DevicesError>

  private struct Request: Hashable {
    let user: String
    let scope: UserErasure.Scope
  }

  private enum Job {
    case running([Int: CheckedContinuation<Outcome?, Never>])
    /// Nobody waited for its end: whoever asks next hears of it.
    case done(ErasureCounts)
  }

  private let loop: EventLoop
  private let redisOptions: RedisOptions
  private let keyspace: Keyspace
  private var redis: RedisClient?
  private var jobs: [Request: Job] = [:]
  private var lastWaiter = 0

  /// Each looks through all of Redis.
  private static let maximumJobs = 4
  private let answeredWithin: Duration
  /// Nobody has asked for the end of it by then.
  private static let keptFor: Duration = .seconds(600)

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// - Parameter answeredWithin: less than a connection has for an answer.
  init(
    loop: EventLoop, redis: RedisOptions, keyspace: Keyspace,
    answeredWithin: Duration = .seconds(5)
  ) {
    self.loop = loop
    self.answeredWithin = answeredWithin
    redisOptions = redis
    self.keyspace = keyspace
  }

  func close() {
    redis?.close()
    redis = nil
  }

  /// nil when it takes longer: it goes on.
  func run(_ user: String, _ scope: UserErasure.Scope) async throws(Problem) -> ErasureCounts? {
    let request = Request(user: user, scope: scope)
    let earlier: ErasureCounts
    switch jobs[request] {
    case nil:
      try begin(request)
      return try await end(of: request)
    case .running:
      guard let counts = try await end(of: request) else { return nil }
      earlier = counts
    case .done(let counts):
      jobs[request] = nil
      earlier = counts
    }
    // It began before it was asked for: what the user has had since goes without a look around.
    var rest = scope
    rest.looksEverywhere = false
    do throws(DevicesError) {
      return earlier + (try await erase(user, rest))
    } catch {
      throw Problem(error)
    }
  }

  private func erase(
    _ user: String, _ scope: UserErasure.Scope
  ) async throws(DevicesError) -> ErasureCounts {
    try await UserErasure(redis: client(), keyspace: keyspace).run(user, scope, writes: true)
  }

  private func begin(_ request: Request) throws(Problem) {
    let running = jobs.values.count { if case .running = $0 { true } else { false } }
    guard running < Self.maximumJobs else {
      throw Problem(
        .tooManyRequests, "\(Self.maximumJobs) users are being forgotten: ask again soon",
        headers: ["Retry-After": "5"])
    }
    jobs[request] = .running([:])
    Task {
      let outcome: Outcome
      do throws(DevicesError) {
        outcome = .success(try await erase(request.user, request.scope))
      } catch {
        outcome = .failure(error)
      }
      finish(request, outcome)
    }
  }

  private func finish(_ request: Request, _ outcome: Outcome) {
    guard case .running(let waiters) = jobs[request] else { return }
    jobs[request] = nil
    for waiter in waiters.values { waiter.resume(returning: outcome) }
    // What failed is begun again by whoever asks again.
    guard waiters.isEmpty, case .success(let counts) = outcome else { return }
    jobs[request] = .done(counts)
    loop.schedule(after: Self.keptFor) { [weak self] in
      self?.assumeIsolated { if case .done = $0.jobs[request] { $0.jobs[request] = nil } }
    }
  }

  /// Returns when the job has ended; nil after a while.
  private func end(of request: Request) async throws(Problem) -> ErasureCounts? {
    guard case .running(var waiters) = jobs[request] else { return nil }
    lastWaiter += 1
    let number = lastWaiter
    let outcome: Outcome? = await withCheckedContinuation { continuation in
      waiters[number] = continuation
      jobs[request] = .running(waiters)
      loop.schedule(after: answeredWithin) { [weak self] in
        self?.assumeIsolated { $0.leave(request, number) }
      }
    }
    do {
      return try outcome?.get()
    } catch {
      throw Problem(error)
    }
  }

  private func leave(_ request: Request, _ number: Int) {
    guard case .running(var waiters) = jobs[request],
      let waiter = waiters.removeValue(forKey: number)
    else { return }
    jobs[request] = .running(waiters)
    waiter.resume(returning: nil)
  }

  private func client() -> RedisClient {
    if let redis { return redis }
    let made = RedisClient(options: redisOptions, loop: loop, log: { _ in })
    made.start()
    redis = made
    return made
  }
}
