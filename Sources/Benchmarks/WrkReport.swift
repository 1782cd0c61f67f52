/// What wrk, run with `--latency`, says at its end.
package struct WrkReport: Sendable, Equatable {
  package let requests: Int
  package let requestsPerSecond: Double
  /// The 99th percentile of the answers' times.
  package let p99Milliseconds: Double
  /// Answers that were no success, and connections that broke.
  package let hasErrors: Bool

  /// Nil when a number is missing. Of its output these lines are read, the last two of which are
  /// there only when there is something to tell:
  ///
  ///          99%   26.40ms
  ///       71852 requests in 8.05s, 27.06MB read
  ///     Requests/sec:   8930.85
  ///       Socket errors: connect 0, read 3, write 0, timeout 0
  ///       Non-2xx or 3xx responses: 12
  package init?(_ output: String) {
    var requests: Int?
    var perSecond: Double?
    var p99: Double?
    var hasErrors = false
    for line in output.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count > 2, words[1] == "requests", words[2] == "in" { requests = Int(words[0]) }
      if words.count == 2, words[0] == "Requests/sec:" { perSecond = Double(words[1]) }
      if words.count == 2, words[0] == "99%" { p99 = Self.milliseconds(words[1]) }
      if ["Socket", "Non-2xx"].contains(words.first) { hasErrors = true }
    }
    guard let requests, let perSecond, perSecond.isFinite, let p99 else { return nil }
    self.requests = requests
    requestsPerSecond = perSecond
    p99Milliseconds = p99
    self.hasErrors = hasErrors
  }

  /// `852.00us`, `26.40ms`, `1.20s`.
  private static func milliseconds(_ text: Substring) -> Double? {
    for (unit, scale) in [("us", 0.001), ("ms", 1), ("s", 1_000)] where text.hasSuffix(unit) {
      return Double(text.dropLast(unit.count)).map { $0 * scale }
    }
    return nil
  }
}
