import Model

/// A push that is to be sent: the `index`-th of `batch`, with what it has been through.
package struct ReadyPush {
  package let batch: PushBatch
  package var index: Int
  var history: PushHistory
  /// Not handed to a connection since it was admitted. `SegmentTally.unsent` counts it while its
  /// queue is open.
  var isFirst = true
  /// It was sent to ask whether our credentials are taken.
  var isProbe = false
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
  var wasRequested: Bool { isAnotherTry || loss.wasLeftOut }

  var tally: SegmentTally { batch.tally }
  var topic: String { batch.headers.topic }

  /// Another worker may send it by now: nobody here wants its outcome.
  var isAbandoned: Bool { batch.tally.sendableUntil == 0 }

  /// What ends it when its event expires or is cancelled. The server may have taken it, and then
  /// either would be a lie.
  func settleOver() {
    let outcome: Outcome = tally.fanOut.brake == .cancelled ? .cancelled : .expired
    settle(as: history.mayHaveArrived ? .rejected(.unanswered) : outcome)
  }

  /// Its last word, when that is not that it was accepted.
  func settle(as outcome: Outcome) {
    batch.setHistory(index, history)
    batch.settle(index, outcome)
  }

  /// The server's last word, when that is not that it was accepted.
  func settle(answered reason: RejectionReason) {
    var counted = self
    counted.history.countTry()
    counted.settle(as: .rejected(reason))
  }
}
