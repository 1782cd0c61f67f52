import JSON
import Text

/// The provider tokens that one connection has seen. Apple answers 429 when it is more than one new
/// one within 20 minutes; a new connection that sees two at once is enough for that (pushy #931).
struct SeenProviderTokens {
  static let minimumSecondsBetween: Int64 = 20 * 60
  /// More than a connection can use in days; the oldest is forgotten then.
  private static let maximumKept = 64

  private(set) var last: CheckedProviderToken?
  private var seen: [CheckedProviderToken] = []
  private var lastNewAt: Int64 = 0

  /// The fault of this request's `authorization`, or nil.
  mutating func judge(
    _ authorization: UnsafeRawBufferPointer, _ tokens: ProviderTokens, nowSeconds: Int64
  ) -> AppleReason? {
    let token: CheckedProviderToken
    if let last, authorization.elementsEqualBytes(last.text) {
      token = last
    } else {
      token = tokens.check(authorization)
    }
    if let flaw = token.flaw { return flaw }
    let age = nowSeconds - token.issuedAt
    guard age <= ProviderTokens.maximumAgeSeconds else { return .expiredProviderToken }
    guard age >= -ProviderTokens.maximumSkewSeconds else { return .invalidProviderToken }
    if token === last { return nil }
    // A connection is bound to the team of its first push.
    if let last, last.teamID != token.teamID { return .unrelatedKeyIdInToken }
    if !seen.contains(where: { $0.text == token.text }) {
      if !seen.isEmpty && nowSeconds - lastNewAt < Self.minimumSecondsBetween {
        return .tooManyProviderTokenUpdates
      }
      if seen.count >= Self.maximumKept { seen.removeFirst() }
      seen.append(token)
      lastNewAt = nowSeconds
    }
    last = token
    return nil
  }
}
