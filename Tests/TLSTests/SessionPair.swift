import Fixtures
import TLS

/// A client and a server joined in memory.
struct SessionPair {
  let client: TLSSession
  let server: TLSSession

  init(
    hosts: [String], host: String, days: Int = 30, trustOther: Bool = false,
    serverProtocols: [String] = ["h2"]
  ) throws {
    let contexts = try TestCertificates(
      hosts: hosts, days: days, isTrusted: !trustOther, serverProtocols: serverProtocols)
    try self.init(client: contexts.client, server: contexts.server, host: host)
  }

  init(client: TLSClientContext, server: TLSServerContext, host: String) throws {
    self.client = try TLSSession(client: client, host: host)
    self.server = try TLSSession(server: server)
  }

  func shakeHands(step: Int = .max) throws {
    try client.handshake()
    for _ in 0..<8 where !(client.isEstablished && server.isEstablished) {
      _ = try Self.move(from: client, to: server, step: step)
      _ = try Self.move(from: server, to: client, step: step)
    }
    _ = try Self.move(from: client, to: server, step: step)
    _ = try Self.move(from: server, to: client, step: step)
  }

  static func move(
    from: TLSSession, to: TLSSession, step: Int = .max
  ) throws -> [UInt8] {
    var plaintext: [UInt8] = []
    let bytes = Array(from.ciphertext)
    from.consume(bytes.count)
    var offset = 0
    while offset < bytes.count {
      let end = step < bytes.count - offset ? offset + step : bytes.count
      try bytes[offset..<end].withUnsafeBytes {
        _ = try to.receive($0) { plaintext.append(contentsOf: $0) }
      }
      offset = end
    }
    return plaintext
  }
}
