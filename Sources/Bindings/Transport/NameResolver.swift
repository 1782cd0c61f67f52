import EventLoop
import Threads

/// Names to addresses, off the loop, since the system's resolver blocks. Names are looked up afresh
/// for each connection (Apple: resolve before each connection).
///
/// Where a nameserver is dead, each answer takes seconds and may come when nobody waits any more:
/// such a late answer is kept, and given at once to who asks next, while it is looked up again
/// beside. One look-up of a name runs at a time, and whoever asks meanwhile waits for it.
package final class NameResolver: Sendable {
  /// The system's: /etc/hosts and the nameservers of /etc/resolv.conf.
  package static let system = NameResolver { Resolver.lookUp($0) }
  /// The same for names that clients give, whose nameservers may be as slow as they like: no name
  /// of the configuration is refused for the threads that wait for them.
  package static let ofClients = NameResolver { Resolver.lookUp($0) }

  package typealias Answer = Result<[SocketAddress], TransportError>

  /// An answer that took longer is late. A nameserver that lives answers within milliseconds, or
  /// asks others for some hundreds of them; a dead one takes 5 s.
  static let lateAfter: UInt64 = 1_000_000_000
  /// A late answer is given for so long at most.
  static let keptFor: UInt64 = 60_000_000_000
  /// Names that are looked up or kept at a time, each with a thread while it is looked up: a
  /// configuration names some ten hosts. Further ones fail at once.
  static let maximumNames = 64

  private struct Waiter {
    let loop: EventLoop
    let body: @Sendable (Answer) -> Void
  }

  private struct State {
    var running: [Endpoint: [Waiter]] = [:]
    var kept: [Endpoint: (addresses: [SocketAddress], since: UInt64)] = [:]
  }

  private let state = ThreadLock(State())
  private let lookUp: AddressLookUp
  private let now: @Sendable () -> UInt64

  /// - Parameters:
  ///   - now: monotonic nanoseconds.
  ///   - lookUp: called on a thread of its own, and may block.
  package init(
    now: @escaping @Sendable () -> UInt64 = { EventLoop.monotonicNanoseconds() },
    lookUp: @escaping AddressLookUp
  ) {
    self.now = now
    self.lookUp = lookUp
  }

  private enum Step {
    case answer(Answer)
    case start(andAnswer: [SocketAddress]?)
    case wait
  }

  /// Calls `body` on `loop`, once, with the addresses in the order to try or with an error. It has
  /// no time limit of its own.
  func resolve(
    _ endpoint: Endpoint, on loop: EventLoop, _ body: @escaping @Sendable (Answer) -> Void
  ) {
    switch step(for: endpoint, Waiter(loop: loop, body: body)) {
    case .answer(let answer): loop.execute { body(answer) }
    case .wait: break
    case .start(let kept):
      if let kept { loop.execute { body(.success(kept)) } }
      start(endpoint)
    }
  }

  private func step(for endpoint: Endpoint, _ waiter: Waiter) -> Step {
    state.withLock { state in
      let time = now()
      state.kept = state.kept.filter { time &- $0.value.since < Self.keptFor }
      let kept = state.kept[endpoint]?.addresses
      if let waiting = state.running[endpoint] {
        if let kept { return .answer(.success(kept)) }
        state.running[endpoint] = waiting + [waiter]
        return .wait
      }
      guard state.running.count < Self.maximumNames else {
        let busy = "DNS: \(Self.maximumNames) names wait for an answer already"
        return .answer(kept.map { .success($0) } ?? .failure(TransportError(.unresolved, busy)))
      }
      state.running[endpoint] = kept == nil ? [waiter] : []
      return .start(andAnswer: kept)
    }
  }

  private func start(_ endpoint: Endpoint) {
    let began = now()
    let thread = SystemThread { [self] in finish(endpoint, lookUp(endpoint), began) }
    guard let thread else {
      let message = "DNS: there is no thread to look up \(endpoint.host)"
      return finish(endpoint, .failure(TransportError(.unresolved, message)), began)
    }
    thread.detach()
  }

  private func finish(_ endpoint: Endpoint, _ answer: Answer, _ began: UInt64) {
    let waiters = state.withLock { state in
      let time = now()
      if case .success(let addresses) = answer {
        let isLate = time &- began >= Self.lateAfter && state.kept.count < Self.maximumNames
        state.kept[endpoint] = isLate ? (addresses, time) : nil
      }
      return state.running.removeValue(forKey: endpoint) ?? []
    }
    for waiter in waiters { waiter.loop.execute { waiter.body(answer) } }
  }
}

extension NameResolver {
  /// Looks a name up for a caller on `loop`. Nil: there is no answer within `timeout`.
  package nonisolated(nonsending) func answer(
    for endpoint: Endpoint, on loop: EventLoop, within timeout: Duration
  ) async -> Answer? {
    let wait = AnswerWait()
    return await withCheckedContinuation { continuation in
      wait.continuation = continuation
      let handoff = LoopConfined(wait)
      let timer = loop.schedule(after: timeout) { wait.finish(nil) }
      wait.timer = timer
      resolve(endpoint, on: loop) { answer in handoff.value?.finish(answer) }
    }
  }
}

/// Whichever comes first, the answer or the end of the time. Confined to its loop.
private final class AnswerWait {
  var continuation: CheckedContinuation<NameResolver.Answer?, Never>?
  var timer: LoopTimer?

  func finish(_ answer: NameResolver.Answer?) {
    timer?.cancel()
    timer = nil
    continuation?.resume(returning: answer)
    continuation = nil
  }
}
