import Glibc
import TLS

/// A server's certificate and key as PEM texts, and a client that knows who signed it.
package struct TestIdentity: Sendable {
  package let client: TLSClientContext
  package let certificates: String
  package let privateKey: String

  package init() throws {
    let authority = try ThrowAwayAuthority(hosts: ["127.0.0.1"])
    let directory = try ScratchPath()
    defer { directory.remove(["ca.pem", "server.pem", "server.key"]) }
    let files = try authority.write(to: directory.path)
    client = try TLSClientContext(caFile: files.authority, alpn: ["http/1.1"])
    certificates = try Self.text(files.certificate)
    privateKey = try Self.text(files.key)
  }

  fileprivate static func text(_ path: String) throws -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    let count = read(descriptor, &bytes, bytes.count)
    guard count > 0 else { throw NoDirectory() }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}

private struct NoDirectory: Error {}

/// A directory that is gone after its use.
private struct ScratchPath {
  let path: String

  init() throws {
    var template = Array("/tmp/fanfare-certificates-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw NoDirectory() }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func remove(_ names: [String]) {
    for name in names + [""] { _ = Glibc.remove(path + "/" + name) }
  }
}

/// A client and a server that know each other by an authority that is thrown away at once.
package struct TestCertificates {
  package let client: TLSClientContext
  package let server: TLSServerContext
  private let identity: String

  /// - Parameters:
  ///   - days: until the server's certificate ends; below 0 it has ended.
  ///   - isTrusted: false: the client knows another authority.
  package init(
    hosts: [String] = ["127.0.0.1"], days: Int = 30, isTrusted: Bool = true,
    serverProtocols: [String] = ["h2"]
  ) throws {
    let directory = try ScratchPath()
    defer { directory.remove(["ca.pem", "server.pem", "server.key"]) }
    let files = try ThrowAwayAuthority(hosts: hosts, days: days).write(to: directory.path)
    if !isTrusted {
      let other = try ThrowAwayAuthority(hosts: hosts)
      try ThrowAwayAuthority.write(other.authorityCertificate, to: files.authority, mode: 0o600)
    }
    server = try TLSServerContext(
      certificateFile: files.certificate, keyFile: files.key, alpn: serverProtocols)
    client = try TLSClientContext(caFile: files.authority, alpn: ["h2"])
    identity = try TestIdentity.text(files.key) + "\n" + TestIdentity.text(files.certificate)
  }

  /// The same server, when it agrees to these protocols (ALPN).
  package func server(speaking protocols: [String]) throws -> TLSServerContext {
    try TLSServerContext(identity: identity, alpn: protocols)
  }
}
