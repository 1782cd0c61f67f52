import EventLoop
import Transport

/// Asks servers, one after the other, the same question until one answers it: where the slots of a
/// cluster are, or which server is the master. Each is asked on a connection of its own, whatever
/// its role.
final class RedisInquiry<Answer> {
  struct Question {
    let command: [String]
    /// The most memory that the replies may take.
    let maximumReplyBytes: Int
    let read: (RedisReply, Endpoint) throws(RedisError) -> Answer
  }

  private let question: Question
  private let options: RedisOptions
  private let loop: EventLoop
  private let log: (String) -> Void
  private let random: () -> Double
  private var candidates: ArraySlice<Endpoint>
  private var connection: RedisConnection?
  private var failure = RedisError(.unavailable, "there is nobody to ask")
  private var whenDone: ((Result<Answer, RedisError>) -> Void)?

  /// `options` say how a candidate is reached, but for its host and port. `log` hears of files that
  /// cannot be read.
  init(
    _ question: Question, of candidates: [Endpoint], _ options: RedisOptions, _ loop: EventLoop,
    _ log: @escaping (String) -> Void, _ random: @escaping () -> Double
  ) {
    self.question = question
    self.candidates = candidates[...]
    self.options = options
    self.loop = loop
    self.log = log
    self.random = random
  }

  /// `whenDone` is called once, unless the inquiry is cancelled before.
  func start(whenDone: @escaping (Result<Answer, RedisError>) -> Void) {
    self.whenDone = whenDone
    askNext()
  }

  func cancel() {
    whenDone = nil
    candidates = []
    connection?.close()
    connection = nil
  }

  /// The name of who is asked has no address yet.
  var isResolving: Bool { connection?.isResolving == true }

  private func askNext() {
    guard let candidate = candidates.popFirst() else {
      let whenDone = whenDone
      self.whenDone = nil
      whenDone?(.failure(failure))
      return
    }
    var fresh = options.at(candidate).refreshed(log)
    // Once for each connection.
    fresh.refresh = nil
    let connection = RedisConnection(
      options: fresh, purpose: .inquiry, loop: loop, log: { _ in }, random: random)
    self.connection = connection
    // One try each: the next one may know.
    connection.whenLost = { [weak self, weak connection] in
      if let failure = connection?.lastFailure { self?.failure = failure }
      connection?.close()
    }
    let replies = RedisReplies(expecting: 1, maximumBytes: question.maximumReplyBytes)
    let execution = Execution(
      RedisPipeline(question.command), replies,
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
    // Not while its answer is on the way.
    loop.schedule(after: .zero) { connection?.close() }
    do throws(RedisError) {
      if let failure = execution.failure { throw failure }
      let answer = try question.read(execution.replies[0], candidate)
      self.whenDone = nil
      whenDone(.success(answer))
    } catch {
      // The connection's own error says more than that it was closed.
      if error.code != .closed { failure = error }
      askNext()
    }
  }
}
