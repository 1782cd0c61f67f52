import Expand
import Record

/// A segment that a lane asks for: the claim that it wants, and the users that it begins to read
/// meanwhile. Confined to its lane.
struct SegmentBid {
  /// What a claim came to.
  struct Answer {
    let result: ClaimResult
    /// Monotonic nanoseconds when the claim was asked for; it began no sooner.
    let asked: UInt64
  }

  let claim: Claim
  let users: SegmentUsers
  /// Ends when `users` may be read; nil when nothing of them is read ahead.
  let reading: Task<Void, Never>?
  /// Monotonic nanoseconds when reading began.
  let began: UInt64
  /// Of the script that opened the event; nil when the claim is still to be asked for.
  var answer: Answer?
}
