import TLS

/// What a client has shown on one connection of who it is: a certificate, or provider tokens.
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

  /// What the handshake has shown.
  mutating func take(_ peer: PeerCertificate?, isDevelopment: Bool) {
    proof = peer.map { ClientProof($0, isDevelopment: isDevelopment) }
  }

  var isCertificateInOrder: Bool { proof.map { $0.fault == nil } ?? false }

  /// Of requests that name none.
  var defaultTopic: [UInt8]? { proof?.defaultTopic }

  /// A request's `authorization`.
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
