import ServerProcesses

/// Holds the tokens of one platform that ought to have been reached against what its simulator saw.
/// The expected
/// devices are computed again from the audience's seed, so neither Redis nor the worker can talk a
/// push away.
package struct DeliveryAudit: Sendable {
  /// The expected outcome of a device.
  package enum Fate: Sendable {
    /// Gets its push.
    case living
    /// Is asked for once and refused: the app is gone from it.
    case dead
    /// Is never asked for: its owner muted everything.
    case muted
  }

  private let ledger: Ledger
  /// Living devices that accepted at least once.
  package private(set) var reached = 0
  /// Living devices that the simulator refused for good.
  package private(set) var refused = 0
  /// Dead devices that were asked for and refused.
  package private(set) var refusedAsDead = 0
  /// Living or dead devices without any final answer.
  package private(set) var missing = 0
  /// Dead devices that accepted, and muted ones that were asked for.
  package private(set) var wrongly = 0
  private var known = 0

  package init(ledger: Ledger) { self.ledger = ledger }

  /// Each token once.
  package mutating func expect(_ token: TokenKey, _ fate: Fate) {
    let entry = ledger[token]
    if entry != nil { known += 1 }
    switch (fate, entry) {
    case (.muted, nil): break
    case (.muted, .some): wrongly += 1
    case (_, nil): missing += 1
    case (.living, let entry?):
      if entry.accepted > 0 {
        reached += 1
      } else if entry.isRefusedForGood {
        refused += 1
      } else {
        missing += 1
      }
    case (.dead, let entry?):
      if entry.accepted > 0 {
        wrongly += 1
      } else if entry.isRefusedForGood {
        refusedAsDead += 1
      } else {
        missing += 1
      }
    }
  }

  /// Tokens in the ledger that nobody expected: more than 0 means that somebody else was sent to.
  package var strangers: Int { ledger.count - known }

  /// Acceptances beyond the first of a token.
  package var duplicated: Int { ledger.duplicates }

  /// Devices without an outcome. The worker may have given an outcome to a push that it did not
  /// send (expired, cancelled, unrenderable): that many may be missing from the ledger.
  package func lost(outcomesWithoutSending: Int) -> Int {
    Self.lost(missing: missing, outcomesWithoutSending: outcomesWithoutSending)
  }

  /// The same of several platforms together.
  package static func lost(missing: Int, outcomesWithoutSending: Int) -> Int {
    max(0, missing - max(0, outcomesWithoutSending))
  }
}
