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
