/// The tries of a push that has no outcome yet. It travels with a straggler, so that the limits
/// of tries hold across the records that carry one push.
package struct PushHistory: Sendable, Equatable, Hashable {
  /// Answers that asked for another try: 429, 5xx, a refused stream.
  package var tries: UInt16 = 0
  /// Connections that were lost, and answers that never came, while the push was in flight.
  /// Evidence against the push counts more.
  package var losses: UInt8 = 0
  /// Answers that refused our credentials.
  package var refusals: UInt8 = 0
  /// It was sent, and nobody knows what Apple did with it.
  package var mayHaveArrived = false
  /// The part of the tries that speaks against this push, and not against the server, in hundredths
  /// of a try.
  package var suspicion: UInt16 = 0

  /// A try that speaks against nothing but its push.
  package static let wholeTry: UInt16 = 100

  package init() {}

  package init(
    tries: UInt16, losses: UInt8, refusals: UInt8, mayHaveArrived: Bool, suspicion: UInt16 = 0
  ) {
    self.tries = tries
    self.losses = losses
    self.refusals = refusals
    self.mayHaveArrived = mayHaveArrived
    self.suspicion = suspicion
  }

  /// Nothing was tried yet.
  package var isEmpty: Bool { tries == 0 && losses == 0 && refusals == 0 && !mayHaveArrived }

  /// Requests that left for it and came to nothing.
  package var sends: Int { Int(tries) + Int(losses) + Int(refusals) }

  package mutating func countTry(suspicion more: UInt16 = 0) {
    if tries < .max { tries += 1 }
    suspicion = suspicion > .max - more ? .max : suspicion + more
  }

  package mutating func countRefusal() { if refusals < .max { refusals += 1 } }

  /// Counts a loss. A push that was sent and not answered may be on the device.
  /// - Parameter all: losses, this one among them.
  package mutating func countLoss(all: Int) {
    losses = UInt8(clamping: all)
    mayHaveArrived = true
  }

  /// It was never answered, though its connection was well: a try, and no loss.
  package mutating func countSilence(suspicion more: UInt16) {
    suspicion = suspicion > .max - more ? .max : suspicion + more
    countLoss(all: Int(losses))
  }
}
