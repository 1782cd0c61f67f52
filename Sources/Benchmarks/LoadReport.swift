/// What h2load says at its end.
package struct LoadReport: Sendable, Equatable {
  package let requestsPerSecond: Double
  /// Requests that were answered, whatever the answer.
  package let done: Int
  /// Answers with a status of 2xx or 3xx.
  package let succeeded: Int

  /// Nil when a number is missing. Of its output these lines are read:
  ///
  ///     finished in 3.02s, 99310.12 req/s, 4.17MB/s
  ///     requests: 300000 total, 300000 started, 300000 done, 300000 succeeded, 0 failed, …
  package init?(_ output: String) {
    var requestsPerSecond: Double?
    var counts: [Substring: Int] = [:]
    for line in output.split(separator: "\n") {
      let words = line.split { $0 == " " || $0 == "," }
      for (word, next) in zip(words, words.dropFirst()) {
        if line.hasPrefix("finished in"), next == "req/s" { requestsPerSecond = Double(word) }
        if line.hasPrefix("requests:"), let count = Int(word) { counts[next] = count }
      }
    }
    guard let requestsPerSecond, requestsPerSecond.isFinite, let done = counts["done"],
      let succeeded = counts["succeeded"]
    else { return nil }
    self.requestsPerSecond = requestsPerSecond
    self.done = done
    self.succeeded = succeeded
  }
}
