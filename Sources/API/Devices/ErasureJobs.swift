import Devices
import EventLoop
import Keyspace
import Redis

/// Users who are being forgotten. Looking through every streamer may take longer than a client
/// waits: it goes on, and whoever asks again waits for the same. With a connection to Redis of its
/// own, because such a look has long replies.
actor ErasureJobs {
  private enum Job {
    case running([Int: CheckedContinuation<Void, Never>])
    case ended(Result<ErasureCounts, DevicesError>)
  }

  private let loop: EventLoop
  private let redisOptions: RedisOptions
  private let keyspace: Keyspace
  private var redis: RedisClient?
  private var jobs: [String: Job] = [:]
  private var lastWaiter = 0

  /// Each looks through all of Redis.
  private static let maximumJobs = 4
  /// Less than a connection has for an answer.
  private static let answeredWithin: Duration = .seconds(5)
  /// Nobody has asked for the end of it by then.
  private static let keptFor: Duration = .seconds(600)

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(loop: EventLoop, redis: RedisOptions, keyspace: Keyspace) {
    self.loop = loop
    redisOptions = redis
    self.keyspace = keyspace
  }

  func close() {
    redis?.close()
    redis = nil
  }

  /// nil when it takes longer: it goes on.
  func run(_ user: String, _ scope: UserErasure.Scope) async throws(Problem) -> ErasureCounts? {
    if jobs[user] == nil { try begin(user, scope) }
    await end(of: user)
    guard case .ended(let result) = jobs[user] else { return nil }
    jobs[user] = nil
    do {
      return try result.get()
    } catch {
      throw Problem(error)
    }
  }

  private func begin(_ user: String, _ scope: UserErasure.Scope) throws(Problem) {
    let running = jobs.values.count { if case .running = $0 { true } else { false } }
    guard running < Self.maximumJobs else {
      throw Problem(
        .tooManyRequests, "\(Self.maximumJobs) users are being forgotten: ask again soon",
        headers: ["Retry-After": "5"])
    }
    jobs[user] = .running([:])
    let redis = client()
    Task {
      let result: Result<ErasureCounts, DevicesError>
      do throws(DevicesError) {
        result = .success(
          try await UserErasure(redis: redis, keyspace: keyspace).run(user, scope, writes: true))
      } catch {
        result = .failure(error)
      }
      finish(user, result)
    }
  }

  private func finish(_ user: String, _ result: Result<ErasureCounts, DevicesError>) {
    guard case .running(let waiters) = jobs[user] else { return }
    jobs[user] = .ended(result)
    for waiter in waiters.values { waiter.resume() }
    loop.schedule(after: Self.keptFor) { [weak self] in
      self?.assumeIsolated { if case .ended = $0.jobs[user] { $0.jobs[user] = nil } }
    }
  }

  /// Returns when the job has ended, or after a while.
  private func end(of user: String) async {
    guard case .running(var waiters) = jobs[user] else { return }
    lastWaiter += 1
    let number = lastWaiter
    await withCheckedContinuation { continuation in
      waiters[number] = continuation
      jobs[user] = .running(waiters)
      loop.schedule(after: Self.answeredWithin) { [weak self] in
        self?.assumeIsolated { $0.leave(user, number) }
      }
    }
  }

  private func leave(_ user: String, _ number: Int) {
    guard case .running(var waiters) = jobs[user],
      let waiter = waiters.removeValue(forKey: number)
    else { return }
    jobs[user] = .running(waiters)
    waiter.resume()
  }

  private func client() -> RedisClient {
    if let redis { return redis }
    let made = RedisClient(options: redisOptions, loop: loop, log: { _ in })
    made.start()
    redis = made
    return made
  }
}
