import Fixtures
import Testing
import Text

@testable import TLS

@Suite struct TLSTests {
  @Test func aClientSaysWhatTheHandshakeAgreedOn() throws {
    let pair = try SessionPair(hosts: ["localhost"], host: "localhost", days: 30)
    #expect(pair.client.agreed == nil)
    try pair.shakeHands()
    let agreed = try #require(pair.client.agreed)
    #expect(agreed.version == "TLS 1.3" && agreed.applicationProtocol == "h2")
    let own = try #require(agreed.chain.first)
    #expect(own.name == "localhost" && own.issuer == "Fanfare throw-away authority")
    #expect(own.expiresAt > own.beginsAt)
  }

  @Test func certificatesOfAFileAreReadInTheirOrder() throws {
    let authority = try ThrowAwayAuthority(hosts: ["a.test"])
    let other = try ThrowAwayAuthority(hosts: ["b.test"])
    let pem = authority.authorityCertificate + other.authorityCertificate
    let all = CertificateSummary.all(pem: pem)
    #expect(all.map(\.name) == Array(repeating: "Fanfare throw-away authority", count: 2))
    #expect(CertificateSummary.all(pem: pem, maximum: 1).count == 1)
    for text in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
      #expect(CertificateSummary.all(pem: text).isEmpty)
    }
  }

  @Test func shakesHandsAndCarriesBytesBothWays() throws {
    let pair = try SessionPair(hosts: ["localhost"], host: "localhost")
    try pair.shakeHands()
    #expect(pair.client.isEstablished && pair.server.isEstablished)
    #expect(pair.client.applicationProtocol == "h2")
    let message = [UInt8](repeating: 7, count: 100_000)
    try message.withUnsafeBytes { try pair.client.send($0) }
    #expect(try SessionPair.move(from: pair.client, to: pair.server) == message)
    try Array("answer".utf8).withUnsafeBytes { try pair.server.send($0) }
    #expect(try SessionPair.move(from: pair.server, to: pair.client) == Array("answer".utf8))
  }

  @Test func survivesOneByteAtATime() throws {
    let pair = try SessionPair(hosts: ["localhost"], host: "localhost")
    try pair.shakeHands(step: 1)
    #expect(pair.client.isEstablished)
  }

  @Test(arguments: [
    (["other.example"], "localhost", 30, TLSError.Code.hostMismatch),
    (["localhost"], "127.0.0.1", 30, .hostMismatch),
    (["localhost"], "localhost", -2, .expired),
    (["*.example"], "a.b.example", 30, .hostMismatch),
    (["f*.example"], "foo.example", 30, .hostMismatch),
    // Without alternative names; its common name is localhost.
    ([], "localhost", 30, .hostMismatch),
  ])
  func refusesTheWrongCertificate(
    hosts: [String], host: String, days: Int, code: TLSError.Code
  ) throws {
    let pair = try SessionPair(hosts: hosts, host: host, days: days)
    let error = #expect(throws: TLSError.self) { try pair.shakeHands() }
    #expect(error?.code == code)
  }

  @Test func acceptsAnAddressThatTheCertificateNames() throws {
    let pair = try SessionPair(hosts: ["localhost", "127.0.0.1"], host: "127.0.0.1")
    try pair.shakeHands()
    #expect(pair.client.isEstablished)
  }

  @Test func refusesAnUnknownAuthority() throws {
    let pair = try SessionPair(hosts: ["localhost"], host: "localhost", trustOther: true)
    let error = #expect(throws: TLSError.self) { try pair.shakeHands() }
    #expect(error?.code == .untrusted)
  }

  @Test func refusesAServerWithoutTheProtocol() throws {
    let pair = try SessionPair(hosts: ["localhost"], host: "localhost", serverProtocols: [])
    let error = #expect(throws: TLSError.self) { try pair.shakeHands() }
    #expect(error?.code == .noProtocol)
  }

  /// Chosen by the name that the client asks for (SNI).
  @Test(arguments: [
    ("old.push.example", "http/1.1"), ("OLD.push.example", "http/1.1"), ("a.push.example", "h2"),
  ])
  func aHostMaySpeakOtherProtocols(host: String, expected: String) throws {
    let authority = try ThrowAwayAuthority(hosts: ["*.push.example"])
    let directory = try #require(TemporaryDirectory())
    let files = try authority.write(to: directory.path)
    let server = try TLSServerContext(
      certificateFile: files.certificate, keyFile: files.key, alpn: ["h2", "http/1.1"],
      alpnByHost: ["old.push.example": ["http/1.1"]])
    let client = try TLSClientContext(caFile: files.authority, alpn: ["h2", "http/1.1"])
    let pair = try SessionPair(client: client, server: server, host: host)
    try pair.shakeHands()
    #expect(pair.server.applicationProtocol == expected)
    #expect(pair.client.applicationProtocol == expected)
  }

  /// Each with a hint of its own: that the authority is not trusted would lead astray.
  @Test(arguments: [
    (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), TLSError.Code.notTLS),
    // Fatal alerts (RFC 8446, section 6): protocol_version, no_application_protocol,
    // certificate_expired, handshake_failure.
    ([21, 3, 1, 0, 2, 2, 70], .oldVersion), ([21, 3, 3, 0, 2, 2, 120], .noProtocol),
    ([21, 3, 3, 0, 2, 2, 45], .refusedCertificate), ([21, 3, 3, 0, 2, 2, 40], .handshake),
  ])
  func saysWhatAnAnswerToTheFirstWordsMeans(bytes: [UInt8], code: TLSError.Code) throws {
    let pair = try SessionPair(hosts: ["localhost"], host: "localhost")
    try pair.client.handshake()
    let error = #expect(throws: TLSError.self) {
      try bytes.withUnsafeBytes { _ = try pair.client.receive($0) { _ in } }
    }
    #expect(error?.code == code)
    #expect((error?.hint == nil) == (code == .handshake))
  }

  /// By the numbers of OpenSSL's x509_vfy.h.
  @Test(arguments: [
    (66, TLSError.Code.weak), (67, .weak), (68, .weak), (10, .expired), (9, .expired),
    (62, .hostMismatch), (64, .hostMismatch), (18, .untrusted), (20, .untrusted),
  ])
  func saysWhatIsWrongWithACertificate(verdict: Int, code: TLSError.Code) {
    let error = TLSError(verdict: verdict, host: "localhost")
    #expect(error.code == code)
    #expect((error.hint == nil) == (code == .untrusted))
  }

  @Test func namesWhatIsWrongWithAnAuthorityFile() {
    let error = #expect(throws: TLSError.self) {
      _ = try TLSClientContext(caFile: "/nowhere/ca.pem", alpn: [])
    }
    #expect(error?.code == .badAuthority)
  }
}

@Suite struct ES256Tests {
  @Test func verifiesWhatItSigned() throws {
    let key = try ES256Key.generate()
    let copy = try ES256Key(pem: key.privateKeyPEM)
    let other = try ES256PublicKey(pem: ES256Key.generate().publicKeyPEM)
    let verifier = try ES256PublicKey(pem: key.publicKeyPEM)
    // Many, since r or s begins with a zero byte once in 128 signatures.
    for number in 0..<300 {
      let message = Array("message \(number)".utf8)
      var signature = try copy.sign(message)
      #expect(signature.count == 64)
      #expect(verifier.verify(message, signature: signature))
      #expect(!other.verify(message, signature: signature))
      signature[number % 64] ^= 1
      #expect(!verifier.verify(message, signature: signature))
    }
    #expect(!verifier.verify([1], signature: []))
  }

  @Test func refusesAKeyWhoseHalvesDoNotFit() throws {
    // PKCS#8 of one length, whose last 65 bytes are the public point.
    let keys = try (0..<2).map { _ in Self.der(try ES256Key.generate().privateKeyPEM) }
    let mixed = keys[0].dropLast(65) + keys[1].suffix(65)
    let error = #expect(throws: TLSError.self) { _ = try ES256Key(pem: Self.pem(mixed)) }
    #expect(error?.code == .badKey && error?.message.contains("does not fit") == true)
    _ = try ES256Key(pem: Self.pem(keys[0]))
  }

  /// Base64URL has two characters of its own, and no padding.
  private static func der(_ pem: String) -> [UInt8] {
    let body = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
    let changed = body.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }.filter { $0 != "=" }
    return Base64URL.decode(String(changed).utf8) ?? []
  }

  private static func pem(_ der: some Sequence<UInt8>) -> String {
    let text = Base64URL.encode(Array(der)).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
    let lines = stride(from: 0, to: text.count, by: 64).map {
      String(text[$0..<min($0 + 64, text.count)])
    }
    return "-----BEGIN PRIVATE KEY-----\n" + lines.joined(separator: "\n") + padding
      + "\n-----END PRIVATE KEY-----\n"
  }

  @Test(arguments: ["", "-----BEGIN CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----\nAA\n"])
  func refusesWhatIsNoKey(pem: String) {
    #expect(throws: TLSError.self) { _ = try ES256Key(pem: pem) }
  }
}
