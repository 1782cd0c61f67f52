import Glibc
import TLS

/// A client and a server that know each other by an authority that is thrown away at once.
package struct TestCertificates {
  package let client: TLSClientContext
  package let server: TLSServerContext

  /// - Parameters:
  ///   - days: until the server's certificate ends; below 0 it has ended.
  ///   - isTrusted: false: the client knows another authority.
  package init(
    hosts: [String] = ["127.0.0.1"], days: Int = 30, isTrusted: Bool = true,
    serverProtocols: [String] = ["h2"]
  ) throws {
    var template = Array("/tmp/fanfare-certificates-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw NoDirectory() }
    let bytes = template.dropLast().map { UInt8(bitPattern: $0) }
    let directory = String(decoding: bytes, as: UTF8.self)
    defer {
      for name in ["ca.pem", "server.pem", "server.key", ""] { remove(directory + "/" + name) }
    }
    let files = try ThrowAwayAuthority(hosts: hosts, days: days).write(to: directory)
    if !isTrusted {
      let other = try ThrowAwayAuthority(hosts: hosts)
      try ThrowAwayAuthority.write(other.authorityCertificate, to: files.authority, mode: 0o600)
    }
    server = try TLSServerContext(
      certificateFile: files.certificate, keyFile: files.key, alpn: serverProtocols)
    client = try TLSClientContext(caFile: files.authority, alpn: ["h2"])
  }

  private struct NoDirectory: Error {}
}
