import Deliver
import EventLoop
import Threads

/// The access tokens of one account, shared by all lanes of a worker. One question is asked at a
/// time, beside the pushes: none waits while the old token is good.
package final class AccessTokenSource: Sendable {
  /// Asks a token server, reads a file, or runs a program. Has a time limit of its own, and an end.
  package typealias Exchange = @Sendable (TokenRequest) async -> TokenReply

  private struct Question {
    var origin: TokenOrigin
    /// An answer of an origin that was replaced meanwhile does not count.
    var generation = 0
  }

  private struct State {
    var machine = AccessTokenMachine()
    var question: Question
  }

  private let state: ThreadLock<State>
  private let exchange: Exchange
  private let executor: (any TaskExecutor)?
  private let monotonic: @Sendable () -> UInt64
  private let wallClock: @Sendable () -> Int64
  private let randomNumber: @Sendable () -> UInt64

  /// - Parameters:
  ///   - executor: on which questions are asked; nil: any.
  ///   - monotonic: nanoseconds of a clock that nobody sets.
  ///   - wallClock: ms since 1970.
  package init(
    _ origin: TokenOrigin, on executor: (any TaskExecutor)? = nil,
    monotonic: @escaping @Sendable () -> UInt64, wallClock: @escaping @Sendable () -> Int64,
    randomNumber: @escaping @Sendable () -> UInt64, exchange: @escaping Exchange
  ) {
    state = ThreadLock(State(question: Question(origin: origin)))
    self.executor = executor
    self.monotonic = monotonic
    self.wallClock = wallClock
    self.randomNumber = randomNumber
    self.exchange = exchange
  }

  /// From now on, for all lanes: as when the file of a key has been replaced.
  package func use(_ origin: TokenOrigin) {
    state.withLock { state in
      state.question = Question(origin: origin, generation: state.question.generation + 1)
      state.machine.forgetProblem(at: monotonic())
    }
  }

  /// Why the last question got no token, for an operator; nil when it did.
  package var problem: String? { state.withLock { $0.machine.problem?.words } }

  /// The token to send with, and asks for another when it is time.
  /// - Parameter now: ms since 1970.
  package func token(now: Int64) throws(CredentialProblem) -> AccessToken {
    let (token, problem, question) = state.withLock { state in
      let time = monotonic()
      let question = state.machine.mayAsk(at: time) ? state.question : nil
      return (state.machine.token(at: time), state.machine.problem, question)
    }
    if let question { ask(question, now: now) }
    if let token { return token }
    guard let problem else {
      throw CredentialProblem(.noToken, "an access token is asked for", mayEndAtOnce: true)
    }
    throw CredentialProblem(
      .noToken, "no access token: \(problem.words)", mayEndAtOnce: !problem.isPermanent)
  }

  /// FCM has refused a token, and another is asked for if it may help.
  /// - Returns: whether it may.
  func replace(_ refused: AccessToken, now: Int64) -> Bool {
    let helps = state.withLock { $0.machine.refused(refused, at: monotonic()) }
    if helps { askIfDue(now: now) }
    return helps
  }

  /// Begins a question when it is time for one, so that a token is there before pushes come.
  /// - Parameter now: ms since 1970.
  package func askIfDue(now: Int64) {
    let question = state.withLock { state in
      state.machine.mayAsk(at: monotonic()) ? state.question : nil
    }
    if let question { ask(question, now: now) }
  }

  /// Without the lock: a signature takes a millisecond.
  private func ask(_ question: Question, now: Int64) {
    do {
      let request = try question.origin.request(now: now)
      Task(executorPreference: executor) { [self] in
        let reply = await exchange(request)
        heard(TokenGrant(reply, now: wallClock()), of: question)
      }
    } catch {
      heard(.refused(error.description), of: question)
    }
  }

  private func heard(_ grant: TokenGrant, of question: Question) {
    state.withLock { state in
      if question.generation == state.question.generation {
        state.machine.heard(grant, at: monotonic(), chance: randomNumber())
      } else {
        state.machine.dropped(at: monotonic())
      }
    }
  }
}
