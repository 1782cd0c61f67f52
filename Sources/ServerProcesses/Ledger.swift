import Text

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

/// A device token of the usual size as a dictionary's key: 32 bytes, nothing allocated.
package struct TokenKey: Sendable, Hashable {
  private let words: InlineWords

  private struct InlineWords: Sendable, Hashable {
    var first: UInt64 = 0
    var second: UInt64 = 0
    var third: UInt64 = 0
    var fourth: UInt64 = 0
  }

  /// Nil unless `digits` are 64 hex digits, either case.
  package init?(_ digits: some StringProtocol) {
    var words: [UInt64] = [0, 0, 0, 0]
    var count = 0
    for byte in digits.utf8 {
      guard let digit = byte.hexValue, count < 64 else { return nil }
      words[count / 16] = words[count / 16] << 4 | UInt64(digit)
      count += 1
    }
    guard count == 64 else { return nil }
    self.words = InlineWords(first: words[0], second: words[1], third: words[2], fourth: words[3])
  }
}
