import MemoryRedis

/// Every key in Redis is one that the documents name, and has an end where they say so.
extension Oracle {
  private struct Kind {
    let prefix: String
    let suffix: String
    /// Seconds; nil: it has none.
    var most: Int64?

    init(_ prefix: String, _ suffix: String = "", _ most: Int64? = nil) {
      self.prefix = prefix
      self.suffix = suffix
      self.most = most
    }
  }

  private static let week: Int64 = 7 * 86_400
  /// Whatever matches first.
  private static let kinds: [Kind] = [
    Kind("ffd:{u:", "}:verdicts", 600), Kind("ffd:{u:", "}:undated", 30 * 86_400),
    Kind("ffd:{u:", "}:moves", 600), Kind("ffd:{e:", "}:document", week),
    Kind("ff:{e:", "}:receipts", 600), Kind("ff:{e:", "}:recovery", 600),
    Kind("ff:{e:", "}:settled", week), Kind("ff:{e:", "}:claims", week),
    Kind("ff:{e:", "}:stragglers", week), Kind("ff:{e:", "}:dead_letters", week),
    Kind("ff:{e:", "}:sums", week), Kind("ff:{e:", "}", week), Kind("ff:{s:", "}", week),
    Kind("ff:{stats}:total"), Kind("ff:{stats}:day:", "", 400 * 86_400),
    Kind("ff:{stats}:minute:", "", 48 * 3_600), Kind("ff:{stats}:sums:", "", 8 * 86_400),
    Kind("ff:{stats}:receipt:", "", 600), Kind("ff:{stats}:events"), Kind("ff:{stats}:series"),
    Kind("ff:{stats}:fanouts"), Kind("ff:{a:", "", 86_400), Kind("ff:worker:", "", 60),
    Kind("ff:workers", "", 3_600),
  ]

  func checkKeys(_ keys: [String]) {
    for key in keys where !key.hasPrefix("ffd:{f:") { check(key) }
  }

  private func check(_ key: String) {
    // Redis' clock may have been ahead.
    let slack: Int64 = 5
    guard case .integer(let left) = world.ask("TTL", key) else { return }
    if key.hasSuffix("}:quarantined") {
      let isPruned = world.hash(key).values.allSatisfy { $0.contains(" pruned ") }
      if isPruned != (left >= 0) || left > Self.week { fail("\(key) ends in \(left) s") }
      return
    }
    if key.hasPrefix("ffd:{e:"), key.contains("}:trace:") {
      if left < 0 || left > Self.week { fail("\(key) ends in \(left) s") }
      return
    }
    let kind = Self.kinds.first { key.hasPrefix($0.prefix) && key.hasSuffix($0.suffix) }
    guard let kind else { return fail("nobody knows of the key \(key)") }
    let isRight = kind.most.map { left >= 0 && left <= $0 + slack } ?? (left == -1)
    if !isRight { fail("\(key) ends in \(left) s") }
  }
}
