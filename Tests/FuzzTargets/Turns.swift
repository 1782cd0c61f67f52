import EventLoop
import Text
import Threads

/// Runs a loop's turns on whatever thread asks, until what it asked for is done: a fuzzer's process
/// has one thread. Time passes when nothing else is left to do.
final class Turns: LoopDriver {
  private let time = ThreadLock<UInt64>(1_000_000_000_000)
  private let isAwake = ThreadLock(false)
  private let numbers = ThreadLock(SplitMix64(seed: 1))

  /// Enough for whoever waits for a server to give up.
  private static let maximumTurns = 10_000

  var now: UInt64 { time.withLock { $0 } }

  func randomNumber() -> UInt64 { numbers.withLock { $0.next() } }

  func wake(_ loop: EventLoop) { isAwake.withLock { $0 = true } }

  /// - Returns: nil when it waits for what never comes.
  func run<Value: Sendable>(
    on loop: EventLoop, _ actor: some Actor, _ body: @escaping @Sendable () async -> Value
  ) -> Value? {
    let result = ThreadLock<Value?>(nil)
    loop.execute {
      actor.assumeIsolated { actor in
        _ = loop.task(on: actor) {
          let value = await body()
          result.withLock { $0 = value }
        }
      }
    }
    var deadline: UInt64?
    for _ in 0..<Self.maximumTurns where result.withLock({ $0 == nil }) {
      if !isAwake.withLock({ takeOut(&$0) }) {
        guard let deadline else { break }
        time.withLock { $0 = max($0, deadline) + 1 }
      }
      deadline = loop.runTurn()
    }
    return result.withLock { $0 }
  }

  private func takeOut(_ flag: inout Bool) -> Bool {
    defer { flag = false }
    return flag
  }
}
