import Record

/// The life of one segment in a lane, as a pure machine: a value that takes what has happened and
/// says what is to be done next. `SegmentRunner` does it, and says in turn what came of it.
///
///     new → waiting → bidding → sending → trying → awaitingAnswers → settling → ended
///
/// Where sending fails, what was sent goes on in the same way as a part of the segment, and gets
/// its outcomes. From `sending` on the segment is ours until another worker has its claim (`lost`)
/// or the lane stops (`stopped`).
struct SegmentMachine: Equatable {
  /// How much of a segment it is about.
  enum Extent: CaseIterable { case whole, part }

  enum State: Hashable {
    case new
    /// For its turn under a limit of pushes a second. `isClaimed`: the script that opened the event
    /// was asked for the claim too.
    case waiting(isClaimed: Bool)
    /// Redis is asked for the claim.
    case bidding
    /// Its followers are read and rendered, and their pushes handed to Deliver.
    case sending
    /// All pushes were handed over, and not all were tried.
    case trying(Extent)
    case awaitingAnswers(Extent)
    /// Redis is told the outcomes: every push has one, and the settled mark may be this run's own.
    case settling(Extent)
    /// Another worker has the claim, or has settled the segment.
    case lost
    /// The lane has stopped, which releases the claims of all its segments.
    case stopped
    case ended
  }

  /// The result of asking for the claim.
  enum Bid: Hashable {
    case won
    /// The lane stopped meanwhile: this claim is not among those that it releases.
    case wonAfterStop
    case settled
    case orphaned
    case unplanned
    case paused
    case claimedElsewhere(milliseconds: Int64)
  }

  enum Input: Hashable {
    // Results of actions.
    case begun(isClaimed: Bool)
    case turn(LimitedSegments.Turn)
    case bid(Bid)
    case sent
    /// Every push was tried, or cannot be.
    case tried(mayReleaseSlot: Bool)
    case answered
    /// Not all pushes have an outcome when the time for it is over.
    case unanswered
    case settled(Extent)
    /// An error. `hasSent`: pushes of it were sent whose outcomes count, though it fails.
    case failed(hasSent: Bool)
    // Events from outside.
    case renewal(Renewal)
    case laneStopped
  }

  enum Action: Hashable {
    case takeTurn
    /// - Parameter again: it has waited, and what was known of its claim is old.
    case bid(again: Bool)
    case send
    case awaitTries
    case awaitAnswers(releasingSlot: Bool)
    /// Pushes that wait for another try leave as stragglers; for the answers to others it waits on.
    case deferAndAwaitAnswers
    case settle(Extent)
    case end(Ending, after: Cleanup)
    /// The claim lives on.
    case extendClaim
    /// Nothing more of it is sent, and whoever waits for it goes on.
    case stopSending
    /// The input changes nothing.
    case nothing
  }

  /// The receipt of the segment's record.
  enum Ending: Hashable {
    case done
    /// Ask for the segment again, when Redis says or soon.
    case again(milliseconds: Int64?)
    /// It rests in the stragglers' topic: its fan-out is paused, or held up by a limit.
    case deferPaused
    /// The segment that its pushes left is not settled yet.
    case deferUnplanned
    /// With the error that there was.
    case failed
  }

  /// The next owner of an ending's remains.
  enum Cleanup: Hashable {
    case nothing
    case releaseClaim
    /// Deliver is to forget its pushes.
    case abandonPushes
    /// That, and others may have the segment at once: what it has written is dropped, and the claim
    /// is released.
    case giveUp
  }

  private(set) var state = State.new
  /// All its pushes were tried, and others have its slot until it is settled.
  private(set) var hasLeftSlot = false

  /// It is ours, and may send.
  var maySend: Bool {
    switch state {
    case .lost, .stopped, .ended: false
    default: true
    }
  }

  mutating func take(_ input: Input) -> Action {
    switch (state, input) {
    case (.new, .begun(let isClaimed)): return go(.waiting(isClaimed: isClaimed), .takeTurn)

    case (.waiting, .turn(.now)): return go(.bidding, .bid(again: false))
    case (.waiting, .turn(.later)): return go(.bidding, .bid(again: true))
    case (.waiting(let isClaimed), .turn(.deferred)):
      return end(.deferPaused, after: isClaimed ? .releaseClaim : .nothing)
    case (.waiting(let isClaimed), .failed):
      // It has not begun: nobody else releases its claim.
      return end(.failed, after: isClaimed ? .releaseClaim : .nothing)

    case (.bidding, .bid(let bid)): return took(bid)
    case (.bidding, .failed): return end(.failed)

    case (.sending, .sent): return go(.trying(.whole), .awaitTries)
    case (.sending, .failed(hasSent: true)): return go(.trying(.part), .awaitTries)
    case (.trying(let extent), .tried(let mayReleaseSlot)):
      // Until it is recorded: while nobody takes records, no more are begun.
      hasLeftSlot = mayReleaseSlot
      return go(.awaitingAnswers(extent), .awaitAnswers(releasingSlot: mayReleaseSlot))
    case (.awaitingAnswers, .unanswered): return .deferAndAwaitAnswers
    case (.awaitingAnswers(let extent), .answered): return go(.settling(extent), .settle(extent))
    case (.settling(.whole), .settled(.whole)): return end(.done)
    case (.settling(.part), .settled(.part)): return end(.failed, after: .giveUp)
    case (.sending, .failed), (.trying, .failed), (.awaitingAnswers, .failed),
      (.settling, .failed):
      return end(.failed, after: .giveUp)
    case (.sending, _), (.trying, _), (.awaitingAnswers, _), (.settling, _):
      return tookMeanwhile(input)

    // Its outcomes are recorded all the same, here or by the other worker.
    case (.lost, .settled(.whole)), (.stopped, .settled(.whole)): return end(.done)
    case (.lost, let input) where input.endsSending:
      return end(.again(milliseconds: nil), after: .abandonPushes)
    case (.stopped, let input) where input.endsSending:
      return end(.failed, after: .abandonPushes)
    default: return .nothing
    }
  }

  private mutating func took(_ bid: Bid) -> Action {
    switch bid {
    case .won: go(.sending, .send)
    case .wonAfterStop: end(.failed, after: .releaseClaim)
    case .settled, .orphaned: end(.done)
    case .unplanned: end(.deferUnplanned)
    case .paused: end(.deferPaused)
    case .claimedElsewhere(let milliseconds): end(.again(milliseconds: milliseconds))
    }
  }

  /// Of a segment that is ours.
  private mutating func tookMeanwhile(_ input: Input) -> Action {
    switch input {
    case .renewal(.held): return .extendClaim
    // The mark may be its own, and wait for replicas. Of another's it hears as it settles.
    case .renewal(.settled) where state == .settling(.whole): return .nothing
    case .renewal: return go(.lost, .stopSending)
    case .laneStopped: return go(.stopped, .stopSending)
    default: return .nothing
    }
  }

  private mutating func go(_ next: State, _ action: Action) -> Action {
    state = next
    return action
  }

  private mutating func end(_ ending: Ending, after cleanup: Cleanup = .nothing) -> Action {
    go(.ended, .end(ending, after: cleanup))
  }
}

extension SegmentMachine.Input {
  /// The event as `SegmentRunner` reports it of a segment that is ours.
  fileprivate var endsSending: Bool {
    switch self {
    case .sent, .tried, .answered, .unanswered, .settled, .failed: true
    case .begun, .turn, .bid, .renewal, .laneStopped: false
    }
  }
}
