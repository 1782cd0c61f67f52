import JSON
import SingleRequests
import WebPushSimulator

/// One rule of the push services of browsers, a request that keeps or breaks it, and the answer
/// that one of the services must give.
package struct WebPushConformanceRow: Sendable {
  let service: ServiceDialect
  /// `mozilla: a TTL is needed`.
  package let rule: String
  package let request: AppleRequest
  /// `400 errno 111`: the status, and the service's own word where it has one.
  package let answer: String
  /// A field of the answer's head, with its value unless that is nil.
  let carried: (name: String, value: String?)?

  /// - Parameter worker: what it does after the reply.
  func result(_ reply: AppleReply, worker: WorkerReaction?) -> ConformanceResult {
    let found = Self.verdict(reply)
    var isCarried = true
    if let carried {
      let value = reply.field(carried.name) ?? ""
      isCarried = carried.value.map { $0 == value } ?? !value.isEmpty
    }
    return ConformanceResult(
      rule: rule, request: request, answer: found, expected: expected,
      isAnswered: found == answer && isCarried,
      worker: (worker, WorkerReaction.wanted(toPushService: answer)))
  }

  private var expected: String {
    guard let carried else { return answer }
    return "\(answer) with \(carried.name)\(carried.value.map { ": \($0)" } ?? "")"
  }

  /// Mozilla says a number, Apple a reason, Microsoft a word in the head, and Google one page of
  /// HTML that means something.
  private static func verdict(_ reply: AppleReply) -> String {
    guard let status = reply.status else { return reply.failure ?? "no answer" }
    let object = reply.object
    let word =
      object?["errno"]?.integer.map { "errno \($0)" } ?? object?["reason"]?.string
      ?? reply.field("x-wns-status") ?? title(reply.body)
    return word.map { "\(status) \($0)" } ?? "\(status)"
  }

  private static func title(_ body: [UInt8]) -> String? {
    let text = String(decoding: body, as: UTF8.self)
    guard let start = text.firstRange(of: "<TITLE>"), let end = text.firstRange(of: "</TITLE>"),
      start.upperBound <= end.lowerBound
    else { return nil }
    return String(text[start.upperBound..<end.lowerBound])
  }
}
