/// The numbers of the simulator's ledger.
package struct LedgerTotals: Sendable, Equatable {
  package var requests = 0
  package var accepted = 0
  /// Refusals by reason; each try of a push counts.
  package var refusals: [String: Int] = [:]
  /// Distinct tokens asked for.
  package var tokens = 0
  /// Microseconds since 1970; 0 when nothing came.
  package var firstArrival: Int64 = 0
  package var lastArrival: Int64 = 0
  /// Connections that were accepted.
  package var connections = 0

  package init() {}
}
