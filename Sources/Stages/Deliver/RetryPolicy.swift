/// When a push that Apple could not take now is sent again: exponential back-off, halved at most by
/// jitter, until its event expires. Pure: time and chance come in.
package struct RetryPolicy: Sendable, Equatable {
  /// Before the first further try.
  package var initial: Duration
  /// The longest wait between two tries.
  package var maximum: Duration

  package init(initial: Duration = .milliseconds(200), maximum: Duration = .seconds(30)) {
    self.initial = initial
    self.maximum = maximum
  }

  package enum Decision: Sendable, Equatable {
    case retry(after: Duration)
    /// The next try would come after the event's expiry.
    case expire
  }

  /// - Parameters:
  ///   - tries: how often the push was sent already, at least 1.
  ///   - remainingMilliseconds: until the event expires.
  ///   - chance: any number; decides where in the upper half of the delay the try falls.
  package func decide(tries: Int, remainingMilliseconds: Int64, chance: UInt64) -> Decision {
    let delay = backOff(tries: tries, chance: chance)
    guard delay < .milliseconds(remainingMilliseconds) else { return .expire }
    return .retry(after: delay)
  }

  package func backOff(tries: Int, chance: UInt64) -> Duration {
    let doublings = min(max(tries, 1) - 1, 20)
    let full = min(initial * (1 << doublings), maximum)
    let half = full / 2
    return half + half * Double(chance % 1024) / 1024
  }
}
