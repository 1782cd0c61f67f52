/// When everything has been heard that a server had to tell by a certain moment: who asks for a
/// fence waits for two PINGs that were sent after it asked, one behind the other's answer. A pure
/// machine.
///
/// Redis tells of the writes of one turn of its loop at the end of that turn, so that a PING in the
/// same turn may be answered before. The second is sent when the first's answer has come, and so is
/// read in a later turn.
struct FenceRounds {
  private static let roundsAFence = 2

  /// PINGs sent so far; the last may be unanswered.
  private var sent = 0
  private var answered = 0
  /// The number of PINGs after whose answers each fence is done, in order.
  private var waiting: [Int] = []

  /// True: a PING goes out now.
  mutating func begin() -> Bool {
    waiting.append(sent + Self.roundsAFence)
    return sendsNext()
  }

  /// - Returns: how many fences are done, the oldest first, and whether a PING goes out now.
  mutating func answer() -> (done: Int, sends: Bool) {
    answered += 1
    let done = waiting.prefix { $0 <= answered }.count
    waiting.removeFirst(done)
    return (done, sendsNext())
  }

  private mutating func sendsNext() -> Bool {
    guard !waiting.isEmpty, answered == sent else { return false }
    sent += 1
    return true
  }
}
