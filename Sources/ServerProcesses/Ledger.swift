/// Every token that the simulator was asked for.
package struct Ledger: Sendable {
  private var entries: [TokenKey: LedgerEntry] = [:]
  /// Tokens that are not of the usual size; none of ours are.
  private(set) var unusual = 0

  package init() {}

  package var count: Int { entries.count + unusual }

  package mutating func add(_ token: String, _ entry: LedgerEntry) {
    guard let key = TokenKey(token) else {
      unusual += 1
      return
    }
    entries[key] = entry
  }

  package subscript(token: TokenKey) -> LedgerEntry? { entries[token] }

  /// Σ (accepted − 1) over the tokens that were accepted.
  package var duplicates: Int { entries.values.reduce(0) { $0 + max(0, $1.accepted - 1) } }
}
