/// The outcomes of one segment's pushes, counted while they settle on one lane, written once by
/// Record.
package final class SegmentTally {
  package let fanOut: FanOut
  /// Of all its pushes, the push type's suffix with it; empty until the first page is rendered.
  package var topic = ""
  package var recipients = 0
  /// Bindings addressed, suppressed ones among them:
  /// `pushes = accepted + rejected + expired + cancelled + suppressed` once the segment settles.
  package var pushes = 0
  package private(set) var accepted = 0
  package private(set) var rejected = [Int](repeating: 0, count: RejectionReason.maximum)
  package private(set) var expired = 0
  package private(set) var cancelled = 0
  package private(set) var suppressions = SuppressionCounts()
  /// Sends beyond the first of a push.
  package var retried = 0
  /// Users or bindings passed over because Redis held something else than the contract says.
  package var skipped = 0
  /// The event expired before all followers of the segment were read: nobody knows how many are
  /// left.
  package var isUnread = false
  /// Users whose time zone, or whose locale, nobody knows.
  package var unknownZones = 0
  package var unknownLocales = 0
  /// Ms since 1970 of the first and last request handed to a connection; 0 when there was none.
  package var firstPushAt: Int64 = 0
  package var lastPushAt: Int64 = 0
  package private(set) var verdicts: [TokenVerdict] = []
  /// Of the first verdicts, while they are written.
  package var admission: VerdictAdmission?
  /// Of `accepted`, those of destinations other than the first, which nearly all are of: what is
  /// accepted is evidence for one destination.
  private var acceptedElsewhere = [Int](repeating: 0, count: Destination.maximum)
  /// The results of verdicts that are no longer among `verdicts`.
  package var findings = PruneFindings()
  /// The unpublished changes of verdicts that are no longer among `verdicts`.
  package var pendingChanges = PendingTokenChanges()
  /// Of the refused tokens, those that are unusable, by destination.
  private var unusable = [Int](repeating: 0, count: Destination.maximum)
  /// Pushes that left without an outcome and are not written down yet.
  package var stragglers: [Straggler] = []
  /// The obstacle of pushes that became stragglers, in words for an operator; nil while there is
  /// none.
  package var obstacle: String?

  /// The outcomes of single pushes, for questions; nil: nobody will ask.
  package var notes: OutcomeNotes?
  /// Sees each outcome; nil: nobody observes them.
  package var observer: (any OutcomeObserver)?
  /// The outcomes of single pushes, for others' analytics; nil: nobody reads them.
  package var reports: OutcomeReports?

  /// Its pushes leave as stragglers when their route is slow and others go on. Stragglers wait for
  /// their turn instead: they have left a segment once, and are not written over and over.
  package var mayStraggle = true
  /// Admitted pushes that could be sent and have not been. When it is 0, whatever is left waits:
  /// for an answer, for its next try, or for a route that is closed or too slow.
  package private(set) var unsent = 0
  /// Called each time that `unsent` falls to 0.
  package var whenNothingIsUnsent: () -> Void = {}
  /// Monotonic nanoseconds: from then on nothing of the segment may be sent, because another worker
  /// may have claimed it.
  package var sendableUntil = UInt64.max

  /// Another worker had begun to send the segment, and nobody knows what of it: it died, or stopped
  /// before it could record anything.
  package var mayHaveBeenSent = false

  package init(of fanOut: FanOut = FanOut()) { self.fanOut = fanOut }

  /// The counted outcome: a push that may have been sent never counts as not sent.
  package func known(_ outcome: Outcome) -> Outcome {
    guard mayHaveBeenSent, outcome == .expired || outcome == .cancelled else { return outcome }
    return .rejected(.unanswered)
  }

  package func willSend(_ pushes: Int) { unsent += pushes }

  /// Pushes that were sent for the first time, or that cannot be sent for the time being.
  package func noLongerUnsent(_ pushes: Int = 1) {
    guard pushes > 0 else { return }
    unsent -= pushes
    if unsent == 0 { whenNothingIsUnsent() }
  }

  package func add(_ verdict: TokenVerdict) {
    verdicts.append(verdict)
    if case .unusable = verdict.finding { unusable[Int(verdict.destination.index)] += 1 }
  }

  /// The titles of the platforms that these are of, in the order of the destinations.
  package var platformsWithVerdicts: [String] {
    let destinations = Set(verdicts.map(\.destination))
    var titles: [String] = []
    for destination in Destination.all where destinations.contains(destination) {
      let title = destination.platform.title
      if titles.last != title { titles.append(title) }
    }
    return titles
  }

  /// The first verdicts are written down.
  package func dropVerdicts(_ count: Int) {
    verdicts.removeFirst(count)
    admission = nil
  }

  /// Notes of an accepted push where it went; called for none of the first destination.
  package func wasAccepted(at destination: Destination, times: Int = 1) {
    acceptedElsewhere[Int(destination.index)] += times
  }

  package func accepted(at destination: Destination) -> Int {
    destination == .production
      ? accepted - acceptedElsewhere.reduce(0, +) : acceptedElsewhere[Int(destination.index)]
  }

  private var reported = [Int](repeating: 0, count: Destination.maximum)

  /// Pushes accepted in one environment since this was asked last.
  package func takeAccepted(of destination: Destination) -> Int {
    let index = Int(destination.index)
    let all = accepted(at: destination)
    defer { reported[index] = all }
    return all - reported[index]
  }

  private var heard = [(accepted: Int, unusable: Int)](
    repeating: (0, 0), count: Destination.maximum)

  /// Pushes accepted, and tokens found unusable, in one environment since this was asked last.
  package func takeEvidence(of destination: Destination) -> (accepted: Int, unusable: Int) {
    let index = Int(destination.index)
    let all = accepted(at: destination)
    let earlier = heard[index]
    heard[index] = (all, unusable[index])
    return (all - earlier.accepted, unusable[index] - earlier.unusable)
  }

  package func postpone(_ straggler: Straggler) {
    pushes -= 1
    stragglers.append(straggler)
  }

  /// A postponed push gets its outcome here after all.
  package func settlePostponed(_ straggler: Straggler, as outcome: Outcome) {
    pushes += 1
    let outcome = known(outcome)
    count(outcome)
    observer?.settled(straggler, as: outcome, topic: topic)
    note(
      user: straggler.user, member: straggler.member, .outcome(outcome),
      sends: straggler.history.sends)
  }

  // MARK: single pushes

  /// Whether anybody wants to hear of single pushes.
  package var hearsOfPushes: Bool { notes != nil || reports != nil }

  /// Whether anybody wants to hear of accepted pushes, too.
  package var hearsAccepted: Bool { notes?.hearsAccepted == true || reports != nil }

  /// - Parameters:
  ///   - member: what the user's set of bindings holds; nothing: the whole user.
  ///   - sends: requests that left for the push.
  package func note(
    user: UnsafeRawBufferPointer, member: UnsafeRawBufferPointer, _ fate: NotedFate, sends: Int = 0
  ) {
    if let notes, notes.hearsAccepted || fate != .outcome(.accepted) {
      notes.add(user: user, member: member, fate, sends: sends)
    }
    reports?.add(user: user, member: member, fate, sends: sends)
  }

  package func note(user: String, member: String, _ fate: NotedFate, sends: Int = 0) {
    guard hearsOfPushes else { return }
    var (user, member) = (user, member)
    user.withUTF8 { user in
      member.withUTF8 { member in
        note(
          user: UnsafeRawBufferPointer(user), member: UnsafeRawBufferPointer(member), fate,
          sends: sends)
      }
    }
  }

  package var suppressed: Int { suppressions.total }

  package var settled: Int { accepted + rejected.reduce(0, +) + expired + cancelled + suppressed }

  package func count(_ outcome: Outcome, times: Int = 1) {
    switch outcome {
    case .accepted: accepted += times
    case .rejected(let reason): rejected[Int(reason.index)] += times
    case .expired: expired += times
    case .cancelled: cancelled += times
    case .suppressed(let rule): suppressions[rule] += times
    }
  }

  /// The reasons that occurred, with their counts.
  package var rejections: [(reason: RejectionReason, count: Int)] {
    RejectionReason.all.compactMap {
      let count = rejected[Int($0.index)]
      return count == 0 ? nil : ($0, count)
    }
  }
}

/// Apple's answers about the tokens of a segment that are not published yet, and their notes in
/// Redis until they are.
package struct PendingTokenChanges: Sendable {
  package var news: [TokenNews] = []
  /// Texts of Record's own.
  package var notes: [String] = []
  /// When what is being written was noted, so that a repeated try notes the same.
  package var notedAt: Int64?

  package init() {}

  package var isEmpty: Bool { notes.isEmpty }
}

/// The results of Apple's verdicts on tokens.
package struct PruneFindings: Sendable, Equatable {
  /// Bindings taken out after a 410.
  package var pruned = 0
  /// 410s that were older than the binding: kept.
  package var refused = 0
  /// 410s of which nothing shows whether they are older than the binding, because Apple's
  /// timestamp or the time of the binding is missing or impossible: kept, for some days.
  package var undated = 0
  /// 410s after which nothing was removed, because too many of the app's answers are 410s.
  package var pruneWithheld = 0
  /// Bindings set aside as unusable.
  package var quarantined = 0
  /// Unusable tokens that were left alone because there were too many: alert, the environment or
  /// the topic is probably misconfigured.
  package var withheld = 0
  /// Commands that Redis refused, because a key holds something else.
  package var failed = 0

  package init() {}

  package mutating func add(_ other: PruneFindings) {
    pruned += other.pruned
    refused += other.refused
    undated += other.undated
    pruneWithheld += other.pruneWithheld
    quarantined += other.quarantined
    withheld += other.withheld
    failed += other.failed
  }
}
