import EventLoop
import Transport

/// Asks nodes, one after the other, where the slots are, until one says it. Each is asked on a
/// connection of its own: a replica knows it as well, and serves nothing else.
final class ClusterInquiry {
  /// 16,384 ranges with a handful of replicas each; usual are some hundred bytes.
  private static let maximumReplyBytes = 16 << 20

  private let options: RedisOptions
  private let loop: EventLoop
  private let random: () -> Double
  private var candidates: ArraySlice<Endpoint>
  private var connection: RedisConnection?
  private var failure = RedisError(.unavailable, "the cluster has no nodes to ask")
  private var whenDone: ((Result<ClusterMap, RedisError>) -> Void)?

  init(
    _ candidates: [Endpoint], _ options: RedisOptions, _ loop: EventLoop,
    _ random: @escaping () -> Double
  ) {
    self.candidates = candidates[...]
    self.options = options
    self.loop = loop
    self.random = random
  }

  /// `whenDone` is called once, unless the inquiry is cancelled before.
  func start(whenDone: @escaping (Result<ClusterMap, RedisError>) -> Void) {
    self.whenDone = whenDone
    askNext()
  }

  func cancel() {
    whenDone = nil
    candidates = []
    connection?.close()
    connection = nil
  }

  private func askNext() {
    guard let candidate = candidates.popFirst() else {
      let whenDone = whenDone
      self.whenDone = nil
      whenDone?(.failure(failure))
      return
    }
    let connection = RedisConnection(
      options: options.at(candidate), purpose: .inquiry, loop: loop, log: { _ in }, random: random)
    self.connection = connection
    // One try each: the next one may know.
    connection.whenLost = { [weak self, weak connection] in
      if let failure = connection?.lastFailure { self?.failure = failure }
      connection?.close()
    }
    let replies = RedisReplies(expecting: 1, maximumBytes: Self.maximumReplyBytes)
    let execution = Execution(
      RedisPipeline(["CLUSTER", "SLOTS"]), replies,
      timeout: min(options.connectTimeout, options.commandTimeout))
    execution.whenFinished = { [weak self, unowned execution] in
      self?.finished(execution, candidate)
    }
    connection.submit(execution)
    connection.start()
  }

  private func finished(_ execution: Execution, _ candidate: Endpoint) {
    guard let whenDone else { return }
    let connection = connection
    self.connection = nil
    // Not while it is telling us.
    loop.schedule(after: .zero) { connection?.close() }
    do throws(RedisError) {
      if let failure = execution.failure { throw failure }
      let map = try ClusterMap(slots: execution.replies[0], from: candidate)
      self.whenDone = nil
      whenDone(.success(map))
    } catch {
      // What the connection met says more than that it was closed.
      if error.code != .closed { failure = error }
      askNext()
    }
  }
}
