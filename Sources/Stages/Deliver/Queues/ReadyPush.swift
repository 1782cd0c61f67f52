import Model

/// A push that is to be sent: the `index`-th of `batch`, with what it has been through.
package struct ReadyPush {
  package let batch: PushBatch
  package var index: Int
  var history: PushHistory
  /// Not handed to a connection since it was admitted. `SegmentTally.unsent` counts it while its
  /// queue is open.
  var isFirst = true
  /// It was sent while nobody knew whether our credentials are taken: its answer says so.
  var isCredentialCheck = false
  /// Monotonic nanoseconds of the answer that asked for another try; 0: none here.
  var answeredAt: UInt64 = 0
  /// The server asked not to be asked before, in ms since 1970; 0: it did not say.
  var askAgainAt: Int64 = 0
  var loss = LossTrace()
  /// How often it waited here for its next try.
  var backOffs = 0

  /// It was sent before, here or elsewhere.
  var isAnotherTry: Bool { !history.isEmpty }

  /// A request for it has left before, whether the server looked at it or not.
  var wasRequested: Bool { isAnotherTry || loss.wasUnprocessed }

  var tally: SegmentTally { batch.tally }
  var topic: String { batch.headers.topic }

  /// Another worker may send it by now: nobody here wants its outcome.
  var isAbandoned: Bool { batch.tally.sendableUntil == 0 }

  /// Settles a push whose event is cancelled or has expired. Where the server may have taken it,
  /// neither is true.
  func settleExpiredOrCancelled() {
    let outcome: Outcome = tally.fanOut.halt == .cancelled ? .cancelled : .expired
    settle(as: history.mayHaveArrived ? .rejected(.unanswered) : outcome)
  }

  /// For any outcome but accepted.
  /// - Parameter sentAt: of the request that was answered; 0: none was.
  func settle(as outcome: Outcome, sentAt: UInt64 = 0) {
    batch.setHistory(index, history)
    batch.settle(index, outcome, sentAt: sentAt)
  }

  /// The server rejected it for good.
  func settle(answered reason: RejectionReason, sentAt: UInt64) {
    var counted = self
    counted.history.countTry()
    counted.settle(as: .rejected(reason), sentAt: sentAt)
  }
}

/// Pushes that are sent one behind the other: one that was tried before, or some that never were
/// and are side by side in their batch. Their common properties are checked once for all.
package struct ReadyRun {
  /// Where in a `TopicQueue` it is.
  enum Origin { case refusedLast, returned, batches, refusedFirst, elsewhere }

  package let first: ReadyPush
  package let count: Int
  let origin: Origin

  init(_ first: ReadyPush, count: Int = 1, from origin: Origin = .elsewhere) {
    self.first = first
    self.count = count
    self.origin = origin
  }

  /// Its first push, as it is in flight when it is sent now.
  package func item(
    _ headers: SharedHeaders, isCredentialCheck: Bool, at now: UInt64
  ) -> StreamSlots.Slot {
    var item = StreamSlots.Slot(push: first, headers: headers, sentAt: now, stream: 0)
    item.push.isFirst = false
    item.push.isCredentialCheck = isCredentialCheck
    return item
  }
}
