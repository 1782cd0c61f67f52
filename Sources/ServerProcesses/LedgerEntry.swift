/// The simulator's entry of one device token.
package struct LedgerEntry: Sendable, Equatable {
  package var requests: Int
  package var accepted: Int
  /// Microseconds since 1970.
  package var firstArrival: Int64
  /// The status of the last answer; 0 when there was none.
  package var lastStatus: Int

  package init(requests: Int, accepted: Int, firstArrival: Int64, lastStatus: Int) {
    self.requests = requests
    self.accepted = accepted
    self.firstArrival = firstArrival
    self.lastStatus = lastStatus
  }

  /// Whether the last answer is Apple's final word: a refusal that no second try would change.
  package var isRefusedForGood: Bool {
    (400...499).contains(lastStatus) && lastStatus != 429
  }
}
