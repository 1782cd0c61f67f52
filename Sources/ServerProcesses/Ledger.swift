import TLS
import Text

/// Every token that the simulator was asked for.
package struct Ledger: Sendable {
  private var entries: [TokenKey: LedgerEntry] = [:]

  package init() {}

  package var count: Int { entries.count }

  package mutating func add(_ token: String, _ entry: LedgerEntry) {
    entries[TokenKey(of: token)] = entry
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

  /// Whether the last answer is final: a refusal that no second try would change. FCM answers 401
  /// when an access token has ended, and the push is sent again with another; Microsoft's service
  /// for browsers answers 406 where others answer 429.
  package var isRefusedForGood: Bool {
    (400...499).contains(lastStatus) && ![401, 406, 429].contains(lastStatus)
  }
}

/// A device token as a dictionary's key: 32 bytes, nothing allocated. They are the token itself
/// where it has Apple's usual size, and the SHA-256 of any other.
package struct TokenKey: Sendable, Hashable {
  private let words: InlineWords

  private struct InlineWords: Sendable, Hashable {
    var first: UInt64 = 0
    var second: UInt64 = 0
    var third: UInt64 = 0
    var fourth: UInt64 = 0
  }

  /// Of a token of any platform.
  package init(of token: String) {
    if let usual = TokenKey(token) {
      self = usual
      return
    }
    var words: [UInt64] = [0, 0, 0, 0]
    for (index, byte) in SecretDigest(of: Array(token.utf8)).bytes.enumerated() {
      words[index / 8] = words[index / 8] << 8 | UInt64(byte)
    }
    self.words = InlineWords(first: words[0], second: words[1], third: words[2], fourth: words[3])
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
