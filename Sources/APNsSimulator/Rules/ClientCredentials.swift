import JSON
import TLS
import Text

/// The credentials that a client has shown on one connection: a certificate, or provider tokens.
struct ClientCredentials {
  private let tokens: ProviderTokens
  private let areRequired: Bool
  private var seen = SeenProviderTokens()
  /// Nil: the client has shown no certificate.
  private(set) var proof: ClientProof?

  /// - Parameter areRequired: a request without any is refused.
  init(_ tokens: ProviderTokens, areRequired: Bool) {
    self.tokens = tokens
    self.areRequired = areRequired
  }

  /// Takes the certificate that the client has shown in the handshake.
  mutating func take(_ peer: PeerCertificate?, isDevelopment: Bool) {
    proof = peer.map { ClientProof($0, isDevelopment: isDevelopment) }
  }

  var isCertificateInOrder: Bool { proof.map { $0.fault == nil } ?? false }

  /// The topic of requests that name none.
  var defaultTopic: [UInt8]? { proof?.defaultTopic }

  /// Takes a request's `authorization`.
  mutating func take(
    _ value: UnsafeRawBufferPointer, _ record: UnsafeMutablePointer<RequestRecord>,
    nowSeconds: Int64
  ) {
    guard areRequired, proof == nil else { return }
    let reason = seen.judge(value, tokens, nowSeconds: nowSeconds)
    if let reason, let fault = RequestFault(providerToken: reason) {
      record.pointee.faults |= fault.bit
    }
  }

  /// When all fields of a request have come.
  func judge(_ record: UnsafeMutablePointer<RequestRecord>) {
    if let proof {
      if let fault = proof.fault { record.pointee.faults |= fault.bit }
    } else if areRequired, !record.pointee.has(.authorization) {
      record.pointee.faults |= RequestFault.missingProviderToken.bit
    }
  }

  /// Whether a request's provider token is in order, or none is required.
  func isTokenInOrder(_ record: UnsafeMutablePointer<RequestRecord>) -> Bool {
    proof == nil && record.pointee.faults & RequestFault.ofProviderToken == 0
  }

  /// By the certificate, or by the key of a provider token that is in order.
  func judgeTopic(of record: UnsafeMutablePointer<RequestRecord>) {
    let isAllowed =
      if let proof {
        proof.allows(record.pointee.topicBytes)
      } else {
        !isTokenInOrder(record)
          || seen.last?.allows(RequestRules.baseTopic(record.pointee)) != false
      }
    if !isAllowed { record.pointee.faults |= RequestFault.disallowedTopic.bit }
  }
}

/// A provider token that was looked at once; the signature costs as much as 50 pushes.
final class CheckedProviderToken {
  /// Nil: sound as long as it is not too old.
  let flaw: AppleReason?
  /// Seconds since 1970, from the claim `iat`.
  let issuedAt: Int64
  let text: [UInt8]
  let teamID: String
  private let topics: [[UInt8]]

  init(
    _ text: [UInt8], flaw: AppleReason?, issuedAt: Int64, teamID: String = "",
    topics: [[UInt8]] = []
  ) {
    self.text = text
    self.flaw = flaw
    self.issuedAt = issuedAt
    self.teamID = teamID
    self.topics = topics
  }

  /// - Parameter topic: without the suffix of a push type.
  func allows(_ topic: UnsafeRawBufferPointer) -> Bool {
    topics.isEmpty || topics.contains { topic.elementsEqualBytes($0) }
  }
}

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
