/// A client's certificate as a server sees it.
package struct PeerCertificate: Sendable {
  package let contents: CertificateContents
  /// Signed by an authority that is known, and not over.
  package let isInOrder: Bool

  package init(contents: CertificateContents, isInOrder: Bool) {
    self.contents = contents
    self.isInOrder = isInOrder
  }
}
