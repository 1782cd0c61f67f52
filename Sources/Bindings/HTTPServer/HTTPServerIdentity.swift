/// A server's certificate and key for TLS.
package struct HTTPServerIdentity: Sendable, Equatable {
  /// The certificate and those between it and the authority's, in PEM.
  package let certificates: String
  /// The certificate's key, in PEM and without a passphrase.
  package let privateKey: String

  package init(certificates: String, privateKey: String) {
    self.certificates = certificates
    self.privateKey = privateKey
  }
}
