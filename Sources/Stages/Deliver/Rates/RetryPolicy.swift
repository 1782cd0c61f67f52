/// When a push that could not be taken now is sent again: exponential back-off, of which jitter
/// leaves between half and all, until its event expires. Pure: time and chance come in.
package struct RetryPolicy: Sendable, Equatable {
  /// Before the first further try.
  package var initial: Duration
  /// The longest wait between two tries.
  package var maximum: Duration

  package init(initial: Duration = .milliseconds(200), maximum: Duration = .seconds(30)) {
    self.initial = initial
    self.maximum = maximum
  }

  /// How long a push waits for its next try; nil when no time is left for another.
  /// - Parameters:
  ///   - tries: how often the push was sent already, at least 1.
  ///   - remainingMilliseconds: until the event expires. A delay that would end after that is cut
  ///     short for one last try, the first back-off before.
  ///   - atLeast: what the server asked for.
  ///   - chance: any number; decides where in the upper half of the delay the try falls.
  func delay(
    tries: Int, remainingMilliseconds: Int64, atLeast: Duration = .zero, chance: UInt64
  ) -> Duration? {
    let remaining = Duration.milliseconds(remainingMilliseconds)
    let shortest = backOff(tries: tries, chance: chance)
    let delay = max(shortest, atLeast)
    if delay < remaining { return delay }
    let last = remaining - initial
    // Never sooner than the first back-off: a push that is tried just before its expiry is not
    // tried over and over.
    return last >= initial ? last : nil
  }

  func backOff(tries: Int, chance: UInt64) -> Duration {
    let doublings = min(max(tries, 1) - 1, 20)
    let full = min(initial * (1 << doublings), maximum)
    let half = full / 2
    return half + half * Double(chance % 1024) / 1024
  }
}
