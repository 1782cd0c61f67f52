/// What a round of pushes is sent with.
enum SenderProof {
  case token(ProviderToken)
  case certificate(ClientIdentity.Certificate)

  /// nil: the connection has said who we are, and no request does.
  var token: ProviderToken? {
    guard case .token(let token) = self else { return nil }
    return token
  }
}
