import Deliver
import HTTP2
import Model
import Threads
import Transport

/// Authenticates the lanes of a worker to Apple: by tokens in each request, or by a certificate
/// when a connection is made ("Establishing a connection to APNs").
package enum APNsCredentials: Sendable {
  case key(ProviderTokenSource)
  case certificate(ClientIdentity)

  /// For a single request: the route whose connection presents the certificate, or the value of the
  /// request's `authorization`; nil: it has none.
  /// - Parameter now: ms since 1970.
  package func authorizing(
    _ route: RouteTarget, now: Int64
  ) throws(SigningError) -> (route: RouteTarget, authorization: String?) {
    switch self {
    case .key(let tokens):
      let token = try tokens.token(now: now)
      return (route, String(decoding: token.authorization.bytes, as: UTF8.self))
    case .certificate(let identity):
      var route = route
      route.tls = identity.current.security(over: route.applicationProtocols)
      return (route, nil)
    }
  }
}

/// An account of Apple's developer program.
extension APNsCredentials: PlatformAccount {
  package var platform: String { Platform.apns.name }

  // MARK: requests

  package func makeRequestWriter(
    authority: String, slots: Int
  ) throws(HTTP2Error) -> any RequestWriter {
    var authorizes = false
    if case .key = self { authorizes = true }
    return try APNsRequestWriter(authority: authority, slots: slots, authorizes: authorizes)
  }

  package func encode(_ headers: PushHeaders, _ credential: any Credential) -> SharedHeaders {
    SharedHeaders(
      headers, credential, fields: EncodedHeaders(headers, token: credential as? ProviderToken))
  }

  // MARK: answers

  package var keptBodyBytes: Int { Answer.maximumBytes }

  package func meaning(of answer: PlatformAnswer) -> AnswerMeaning {
    let said = Answer(body: answer.body)
    let disposition = RejectionTable.disposition(
      status: answer.status, reason: said.reason, isWhole: answer.isWhole)
    let reason = said.reason.map { RejectionReason.apple($0) }
    return AnswerMeaning(
      disposition,
      counted: AnswerCounts.Refusal(status: answer.status, reason: reason),
      unknown: RejectionTable.unknown(answer.status, said.reason, disposition),
      goneSince: said.timestamp)
  }

  package func subject(of reason: RejectionReason) -> RetrySubject? {
    RejectionTable.subject(of: reason)
  }

  package func reason(ofGoAway debug: [UInt8]) -> String? { Answer(body: debug).reason }

  // MARK: credentials

  package func credential(now: Int64) throws(CredentialProblem) -> any Credential {
    switch self {
    case .key(let tokens):
      do {
        return try tokens.token(now: now)
      } catch {
        throw CredentialProblem(.noToken, "\(error)")
      }
    case .certificate(let identity):
      let certificate = identity.current
      guard certificate.expiresAt > now else {
        throw CredentialProblem(.certificateExpired, certificate.words, mayEndAtOnce: true)
      }
      return certificate
    }
  }

  package func replacement(for expired: any Credential, now: Int64) -> (any Credential)? {
    guard case .key(let tokens) = self, let token = expired as? ProviderToken,
      let renewed = try? tokens.replacement(for: token, now: now), renewed !== token
    else { return nil }
    return renewed
  }

  package func makeShownCredentials() -> any ShownCredentials { PresentedCredentials(self) }
}

/// Why a key signs no provider token.
package struct SigningError: Error, Sendable, CustomStringConvertible {
  package let message: String
  package let cause: String?

  package init(_ message: String, cause: String? = nil) {
    self.message = message
    self.cause = cause
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }
}

/// The credentials that a connection has shown Apple, and whether others may follow: "APNs returns
/// an error if it sees more than one new token within 20 minutes on a connection", and "if you
/// revoke a key, close all connections" (Apple, "Establishing a token-based connection to APNs"). A
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

/// The certificate that connections show; another may be put in its place.
package final class ClientIdentity: Sendable {
  /// One certificate, as connections are made with it.
  package final class Certificate: Credential {
    package let http2: ClientSecurity
    /// For servers that agree on no protocol in TLS.
    package let withoutProtocol: ClientSecurity
    /// Ms since 1970.
    package let expiresAt: Int64
    /// In words, for an operator: what it is for.
    package let words: String

    package init(
      http2: ClientSecurity, withoutProtocol: ClientSecurity, expiresAt: Int64, words: String
    ) {
      self.http2 = http2
      self.withoutProtocol = withoutProtocol
      self.expiresAt = expiresAt
      self.words = words
    }

    package func security(over protocols: [String]) -> ClientSecurity {
      protocols.isEmpty ? withoutProtocol : http2
    }
  }

  private let certificate: ThreadLock<Certificate>

  package init(_ certificate: Certificate) { self.certificate = ThreadLock(certificate) }

  package var current: Certificate { certificate.withLock { $0 } }

  /// From now on, by all lanes. Connections that have shown another certificate end.
  package func use(_ other: Certificate) { certificate.withLock { $0 = other } }
}
