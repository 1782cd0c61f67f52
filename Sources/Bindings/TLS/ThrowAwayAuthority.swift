import COpenSSL
import Glibc

/// A certificate authority made for one run of a simulator or a test: its key is never written
/// down.
package struct ThrowAwayAuthority: Sendable {
  /// PEM texts.
  package let authorityCertificate: String
  let serverCertificate: String
  let serverKey: String
  private let authority: Certificate
  private let authorityKey: ES256Key

  /// `hosts`: names and addresses that the server certificate is for. Valid for `days`, from a day
  /// ago; negative days make an expired certificate. No hosts make one without alternative names,
  /// which no client of ours takes: its common name is `localhost`.
  package init(hosts: [String], days: Int = 30) throws(TLSError) {
    let authorityKey = try ES256Key.generate()
    // Longer than what it signs: `fanfare doctor` warns of 30 days.
    let authority = try Certificate(commonName: "Fanfare throw-away authority", serial: 1, days: 60)
    try authority.add(NID_basic_constraints, "critical,CA:TRUE", issuer: authority)
    try authority.add(NID_key_usage, "critical,keyCertSign,cRLSign", issuer: authority)
    try authority.add(NID_subject_key_identifier, "hash", issuer: authority)
    try authority.sign(key: authorityKey, issuer: authority, issuerKey: authorityKey)

    let key = try ES256Key.generate()
    let server = try Certificate(commonName: hosts.first ?? "localhost", serial: 2, days: days)
    let names = hosts.map { Self.isAddress($0) ? "IP:\($0)" : "DNS:\($0)" }
    try server.add(NID_basic_constraints, "critical,CA:FALSE", issuer: authority)
    // A node of a Redis Cluster shows the same one to those that it connects to.
    try server.add(NID_ext_key_usage, "serverAuth,clientAuth", issuer: authority)
    if !names.isEmpty {
      try server.add(NID_subject_alt_name, names.joined(separator: ","), issuer: authority)
    }
    try server.sign(key: key, issuer: authority, issuerKey: authorityKey)

    self.authority = authority
    self.authorityKey = authorityKey
    authorityCertificate = authority.pem
    serverCertificate = server.pem
    serverKey = key.privateKeyPEM
  }

  /// A certificate as Apple gives them out for pushes, with its key: PEM.
  /// - Parameters:
  ///   - subjectID: the bundle id.
  ///   - topics: nil: the certificate does not list them.
  ///   - isForSandbox: false: for production only.
  ///   - isForProduction: false: for the sandbox only.
  ///   - days: until it ends; below 0 it has ended.
  package func client(
    subjectID: String, topics: [String]?, isForSandbox: Bool = true,
    isForProduction: Bool = true, days: Int = 30
  ) throws(TLSError) -> String {
    let key = try ES256Key.generate()
    let client = try Certificate(
      commonName: "Apple Push Services: \(subjectID)", serial: 3, days: days)
    try client.add(subjectID: subjectID)
    try client.add(NID_basic_constraints, "critical,CA:FALSE", issuer: authority)
    try client.add(NID_ext_key_usage, "clientAuth", issuer: authority)
    if isForSandbox { try client.add(CertificateContents.sandboxIdentifier, Self.mark) }
    if isForProduction { try client.add(CertificateContents.productionIdentifier, Self.mark) }
    if let topics {
      try client.add(CertificateContents.topicsIdentifier, TopicList.der(topics: topics))
    }
    try client.sign(key: key, issuer: authority, issuerKey: authorityKey)
    return client.pem + key.privateKeyPEM
  }

  /// ASN.1's NULL, which is what Apple's marks hold.
  private static let mark: [UInt8] = [5, 0]

  private static func isAddress(_ host: String) -> Bool {
    host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
  }

  package struct Files: Sendable {
    package let authority: String
    package let certificate: String
    package let key: String
  }

  /// Writes `ca.pem`, `server.pem` and `server.key` (mode 0600) into `directory`, which must exist.
  package func write(to directory: String) throws(TLSError) -> Files {
    let files = Files(
      authority: directory + "/ca.pem", certificate: directory + "/server.pem",
      key: directory + "/server.key")
    try Self.write(authorityCertificate, to: files.authority, mode: 0o644)
    try Self.write(serverCertificate, to: files.certificate, mode: 0o644)
    try Self.write(serverKey, to: files.key, mode: 0o600)
    return files
  }

  /// Makes a new file: what was there before, a symbolic link or a file that others may read,
  /// is taken away and not written through.
  package static func write(_ text: String, to path: String, mode: UInt32) throws(TLSError) {
    unlink(path)
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
    guard descriptor >= 0 else {
      throw TLSError(
        .internalFailure, "\(path) cannot be written", cause: String(cString: strerror(errno)))
    }
    defer { close(descriptor) }
    var text = text
    let written = text.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) == $0.count }
    guard written else {
      throw TLSError(
        .internalFailure, "\(path) cannot be written", cause: String(cString: strerror(errno)))
    }
  }
}

/// An X.509 certificate while it is being made.
///
/// Unchecked: an authority's is only read once it is signed, and the others do not leave a call.
private final class Certificate: @unchecked Sendable {
  private let handle: OpaquePointer

  init(commonName: String, serial: Int, days: Int) throws(TLSError) {
    guard let handle = X509_new() else {
      throw TLSError(.internalFailure, "OpenSSL gave no certificate")
    }
    self.handle = handle
    let day = 24 * 3600
    let name = X509_get_subject_name(handle)
    guard X509_set_version(handle, 2) == 1,
      ASN1_INTEGER_set(X509_get_serialNumber(handle), serial) == 1,
      X509_gmtime_adj(X509_getm_notBefore(handle), min(-day, (days - 1) * day)) != nil,
      X509_gmtime_adj(X509_getm_notAfter(handle), days * day) != nil,
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, commonName, -1, -1, 0) == 1
    else { throw TLSError(.internalFailure, "the certificate cannot be filled in") }
  }

  deinit { X509_free(handle) }

  func add(_ identifier: Int32, _ value: String, issuer: Certificate) throws(TLSError) {
    guard ossl_add_extension(handle, issuer.handle, identifier, value) == 1 else {
      throw TLSError(.internalFailure, "the certificate takes no \(value)")
    }
  }

  func add(_ identifier: String, _ value: [UInt8]) throws(TLSError) {
    guard ossl_add_raw_extension(handle, identifier, value, Int32(value.count)) == 1 else {
      throw TLSError(.internalFailure, "the certificate takes no \(identifier)")
    }
  }

  func add(subjectID: String) throws(TLSError) {
    let name = X509_get_subject_name(handle)
    guard X509_NAME_add_entry_by_txt(name, "UID", MBSTRING_UTF8, subjectID, -1, -1, 0) == 1 else {
      throw TLSError(.internalFailure, "the certificate takes no \(subjectID)")
    }
  }

  func sign(key: ES256Key, issuer: Certificate, issuerKey: ES256Key) throws(TLSError) {
    let signed =
      X509_set_issuer_name(handle, X509_get_subject_name(issuer.handle)) == 1
      && key.withHandle { X509_set_pubkey(handle, $0) == 1 }
      && issuerKey.withHandle { X509_sign(handle, $0, EVP_sha256()) > 0 }
    guard signed else { throw TLSError(.internalFailure, "the certificate cannot be signed") }
  }

  var pem: String { textOf { PEM_write_bio_X509($0, handle) } }
}
