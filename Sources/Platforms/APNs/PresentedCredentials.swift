import Deliver
import Transport

/// What a connection shows Apple, and whether pushes may go on it with another: "APNs returns an
/// error if it sees more than one new token within 20 minutes on a connection", and "if you revoke
/// a key, close all connections" (Apple, "Establishing a token-based connection to APNs"). A
/// certificate is shown when the connection is made, and never another. A pure machine; times are
/// monotonic nanoseconds.
struct PresentedCredentials: ShownCredentials {
  private static let minimumUse = UInt64(ProviderTokenTimes.minimumUse) * 1_000_000

  /// nil: requests go with provider tokens.
  let certificate: ClientIdentity.Certificate?
  private var shown: ProviderToken?
  private var since: UInt64 = 0

  init(_ credentials: APNsCredentials) {
    switch credentials {
    case .key: certificate = nil
    case .certificate(let identity): certificate = identity.current
    }
  }

  func security(over protocols: [String]) -> ClientSecurity? {
    certificate?.security(over: protocols)
  }

  mutating func show(_ credential: any Credential, at now: UInt64) {
    guard credential !== shown, let token = credential as? ProviderToken else { return }
    if shown.map({ Self.isSame($0, token) }) != true { since = now }
    shown = token
  }

  func mayShow(_ credential: any Credential, at now: UInt64) -> Bool {
    guard let token = credential as? ProviderToken else { return credential === certificate }
    guard certificate == nil else { return false }
    guard let shown, shown !== token, !Self.isSame(shown, token) else { return true }
    return shown.key === token.key && now &- since >= Self.minimumUse
  }

  /// A clock that was set right again brings back a token byte for byte.
  private static func isSame(_ one: ProviderToken, _ other: ProviderToken) -> Bool {
    one.key === other.key && one.authorization.bytes.elementsEqual(other.authorization.bytes)
  }
}
