import Deliver
import Threads
import Transport

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
