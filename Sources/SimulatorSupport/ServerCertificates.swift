import TLS

/// The certificate of a simulator and its throw-away authority, in files of its directory.
package struct ServerCertificates: Sendable {
  /// PEM.
  package let authority: String
  package let certificate: String
  package let key: String

  /// Writes them. Those of an earlier run that are for the same names stay while they are young, so
  /// that a client that has read them survives a restart.
  /// - Parameters:
  ///   - hosts: names and addresses that the certificate is for.
  ///   - known: signs it in every case; nil: an authority is made when one is needed.
  package init(
    in directory: String, hosts: [String], signedBy known: ThrowAwayAuthority? = nil
  ) throws(TLSError) {
    // The names that `ThrowAwayAuthority` gives.
    authority = directory + "/ca.pem"
    certificate = directory + "/server.pem"
    key = directory + "/server.key"
    // The names stand beside the certificates, so that other names make others.
    let names = hosts.joined(separator: "\n")
    let namesFile = directory + "/server.hosts"
    let areYoung = [(authority, false), (certificate, false), (key, true)].allSatisfy {
      KeptFiles.isYoung($0, isSecret: $1)
    }
    if known == nil, areYoung, KeptFiles.read(namesFile, isSecret: false) == names { return }
    let signer: ThrowAwayAuthority
    if let known { signer = known } else { signer = try ThrowAwayAuthority(hosts: hosts) }
    _ = try signer.write(to: directory)
    try ThrowAwayAuthority.write(names, to: namesFile, mode: 0o644)
  }
}
