import Deliver
import Fixtures

@testable import APNs

extension TestCertificates {
  /// What a route shows in the place of a provider token; each is another.
  /// - Parameter expiresAt: ms since 1970.
  func identity(expiresAt: Int64 = .max) -> ClientIdentity.Certificate {
    ClientIdentity.Certificate(
      http2: client, withoutProtocol: client, expiresAt: expiresAt, words: "a certificate for a.b")
  }
}
