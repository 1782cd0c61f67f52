import SingleRequests

/// One rule of Apple's, a request that keeps or breaks it, and the answer it must get.
package struct ConformanceRow: Sendable {
  /// The request's provider token, or its connection's certificate.
  package enum Credential: Sendable {
    case valid, absent, notBearer, malformed
    /// Issued an hour and some minutes ago; in an hour's time.
    case expired, early
    /// Signed by the right key, for another team.
    case otherTeam
    /// Signed by another key.
    case otherKey
    /// A certificate, and no provider token; of another authority; for the other environment.
    case certificate, strangeCertificate, misplacedCertificate
  }

  /// Further content that the answer must carry.
  package enum Carried: Sendable {
    case nothing
    /// A field of this name; of this value, unless nil.
    case field(String, String?)
    /// Since when the token is gone, in milliseconds, as the legacy interface did not.
    case timestamp
  }

  package let rule: String
  package let request: AppleRequest
  let credential: Credential
  package let status: Int
  /// Nil: an acceptance.
  package let reason: String?
  package let carried: Carried

  init(
    _ rule: String, _ request: AppleRequest, _ status: Int, _ reason: String? = nil,
    credential: Credential = .valid, carries carried: Carried = .nothing
  ) {
    self.rule = rule
    self.request = request
    self.credential = credential
    self.status = status
    self.reason = reason
    self.carried = carried
  }

  func result(_ reply: AppleReply) -> ConformanceResult {
    let answer = reply.status.map { Self.answer($0, reply.reason) }
    return ConformanceResult(
      rule: rule, request: request, answer: answer ?? reply.failure ?? "no answer",
      expected: expected, isAnswered: isMet(by: reply))
  }

  /// Whether an answer is the one that it must be.
  package func isMet(by reply: AppleReply) -> Bool {
    guard reply.status == status, reply.reason == reason else { return false }
    switch carried {
    case .nothing: return true
    case .field(let name, let value):
      guard let found = reply.field(name), !found.isEmpty else { return false }
      return value.map { $0 == found } ?? true
    case .timestamp: return reply.timestamp.map { $0 > Self.leastMilliseconds } ?? false
    }
  }

  /// In seconds, today's times are far below it.
  private static let leastMilliseconds: Int64 = 100_000_000_000

  /// `400 BadTopic`, with what it must carry.
  package var expected: String {
    let answer = Self.answer(status, reason)
    return switch carried {
    case .nothing: answer
    case .field(let name, let value): "\(answer) with \(name)\(value.map { ": \($0)" } ?? "")"
    case .timestamp: "\(answer) with a timestamp"
    }
  }

  static func answer(_ status: Int, _ reason: String?) -> String {
    reason.map { "\(status) \($0)" } ?? "\(status)"
  }
}
