import APNs
import Checkout
import Deliver
import Model
import SingleRequests
import Testing

/// docs/apns.md says what each of Apple's answers means and what a worker does about it; both are
/// made from the code's tables.
@Suite struct ReasonPageTests {
  /// Apple's reasons in the order of their statuses.
  private static var reasons: [(status: Int, reason: RejectionReason)] {
    RejectionReason.all(of: .apns).compactMap { reason in
      ReasonWords(reason).status.map { ($0, reason) }
    }.sorted { ($0.status, $0.reason.name) < ($1.status, $1.reason.name) }
  }

  private static var meanings: [String] {
    ["| Status | Reason | Meaning | What to do |", "|---|---|---|---|"]
      + ["| 200 | | \(ReasonWords.accepted.meaning) | \(ReasonWords.accepted.advice) |"]
      + reasons.map { status, reason in
        let words = ReasonWords(reason)
        return "| \(status) | `\(reason.name)` | \(words.meaning) | \(words.advice) |"
      }
  }

  /// A status whose reason is missing or new is judged by itself.
  private static let bareStatuses = [
    302, 400, 401, 403, 404, 405, 407, 408, 410, 413, 421, 425, 429, 431, 500, 502, 503, 504, 511,
  ]
  private static let new = "ANewOne"
  private static let newStatuses = [400, 403, 404, 405, 410, 413, 429, 500, 503]

  private static var policy: [String] {
    let rows =
      [(200, nil)] + reasons.map { ($0.status, Optional($0.reason.name)) }
      + bareStatuses.map { ($0, nil) } + newStatuses.map { ($0, new) }
    return [
      "| Status | Reason | Push | Tries | Token | Connection | Held | Operator told |",
      "|---|---|---|---|---|---|---|---|",
    ]
      + rows.map { status, reason in
        let row = AnswerPolicy(status: status, reason: reason)
        let name =
          reason.map { $0 == new ? "a new one" : "`\($0)`" } ?? (status == 200 ? "" : "none")
        return "| \(status) | \(name) | \(row.outcome) | \(row.tries) | \(row.token) "
          + "| \(row.connection) | \(row.hold.rawValue) "
          + "| \(row.alerts ? "yes" : row.hold == .topicOfNewToken ? "if it is held" : "no") |"
      }
  }

  private static var broadcasts: [String] {
    ["| Status | Reason | Meaning | What to do |", "|---|---|---|---|"]
      + BroadcastWords.all.map {
        "| \($0.status) | `\($0.reason)` | \($0.meaning) | \($0.advice) |"
      }
  }

  private static func part(_ name: String) throws -> String? {
    let text = try Checkout.text("docs/apns.md")
    let begin = "<!-- made from the code: \(name); ReasonPageTests prints it -->\n"
    guard let start = text.firstRange(of: begin)?.upperBound,
      let end = text[start...].firstRange(of: "\n<!-- end -->")?.lowerBound
    else { return nil }
    return String(text[start..<end])
  }

  /// When one of these fails, put what it prints between the marks.
  @Test func thePageSaysWhatEachReasonMeans() throws {
    let page = Self.meanings.joined(separator: "\n")
    #expect(try Self.part("meanings") == page, "\(page)")
  }

  @Test func thePageSaysWhatAWorkerDoes() throws {
    let page = Self.policy.joined(separator: "\n")
    #expect(try Self.part("policy") == page, "\(page)")
  }

  @Test func thePageSaysWhatEachReasonOfChannelsMeans() throws {
    let page = Self.broadcasts.joined(separator: "\n")
    #expect(try Self.part("broadcasts") == page, "\(page)")
  }
}
