import EventLoop
import Expand
import Model
import Record

/// Asks for segments, and begins to read their users meanwhile. Confined to its lane.
final class SegmentBidder {
  private let options: PipelineOptions
  private let loop: EventLoop
  private let lane: Int
  private let expand: ExpandStage
  private var credit: ReadAheadCredit
  private var lastRun = 0

  init(options: PipelineOptions, loop: EventLoop, lane: Int, expand: ExpandStage) {
    self.options = options
    self.loop = loop
    self.lane = lane
    self.expand = expand
    // What may be under way at a time, so that a burst of new events waits for no credit.
    credit = ReadAheadCredit(maximum: options.limits.events)
  }

  /// Begins to read the segment's users: they come with the answer to the question whether the
  /// segment is ours, and are thrown away when it is not. How many come in vain is bounded.
  func bid(
    on segment: Segment, audience: Audience? = nil, isolation: isolated any Actor = #isolation
  ) -> SegmentBid {
    lastRun += 1
    let claim = Claim(
      segment: segment, owner: "\(options.workerID)/\(options.instance)/\(lane).\(lastRun)")
    let users = expand.users(of: segment, audience: audience)
    let isReadAhead = !users.beginsWithMembers || credit.take()
    return SegmentBid(
      claim: claim, users: users,
      reading: isReadAhead ? readAhead(users, isolation) : nil, began: loop.now)
  }

  private func readAhead(
    _ users: SegmentUsers, _ lane: isolated any Actor
  ) -> Task<Void, Never> {
    loop.task(on: lane) {
      await users.readAhead()
    }
  }

  /// A segment that was asked for was ours.
  func won() { credit.earn() }

  /// The segment's users as they are about now: what was read long before the segment was known
  /// to be ours is read again, since people have followed and left meanwhile.
  func users(of bid: SegmentBid) async -> SegmentUsers {
    guard let reading = bid.reading else { return bid.users }
    await reading.value
    guard loop.now &- bid.began > options.readAheadLifetime.nanoseconds else {
      return bid.users
    }
    bid.users.finish()
    return expand.users(of: bid.claim.segment)
  }
}

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

/// How many segments may have their members read before it is known whether they are ours: a pure
/// machine. Such a read is in vain when the event is a duplicate or the segment another's, and what
/// is read so may be thousands of members. A segment that was ours makes up for one in vain, so
/// there are no more of these than of those, and a round at most for the first.
struct ReadAheadCredit: Equatable {
  private let maximum: Int
  private(set) var left: Int

  init(maximum: Int) {
    self.maximum = maximum
    left = maximum
  }

  /// Whether one more may be read ahead.
  mutating func take() -> Bool {
    guard left > 0 else { return false }
    left -= 1
    return true
  }

  /// A segment that was asked for was ours.
  mutating func earn() { left = min(left + 1, maximum) }
}
