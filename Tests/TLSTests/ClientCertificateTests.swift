import Fixtures
import Foundation
import Testing

@testable import TLS

@Suite struct ClientCertificateTests {
  private static func bytes(_ base64: String) -> [UInt8] {
    Array(Data(base64Encoded: base64, options: .ignoreUnknownCharacters) ?? Data())
  }

  private static let pem = SampleCertificate.certificate + SampleCertificate.key

  private func code(_ file: [UInt8], _ passphrase: String?) -> TLSError.Code? {
    #expect(throws: TLSError.self) {
      _ = try ClientCertificate(file: file, passphrase: passphrase)
    }?.code
  }

  /// Each has a name, and its bytes stay out of the test's report.
  private static let good: [String: (file: [UInt8], passphrase: String?)] = [
    "pem": (Array(pem.utf8), nil),
    "key first": (Array((SampleCertificate.key + SampleCertificate.certificate).utf8), nil),
    "encrypted key": (
      Array((SampleCertificate.certificate + SampleCertificate.encryptedKey).utf8),
      SampleCertificate.passphrase
    ),
    "PKCS#12": (bytes(SampleCertificate.p12), SampleCertificate.passphrase),
    "keychain": (bytes(SampleCertificate.legacyP12), SampleCertificate.passphrase),
  ]

  @Test(arguments: good.keys.sorted())
  func readsWhatAppleAndTheKeychainGive(kind: String) throws {
    let (file, passphrase) = try #require(Self.good[kind])
    let contents = try ClientCertificate(file: file, passphrase: passphrase).contents
    #expect(contents.subjectID == "com.example.live")
    #expect(contents.topics == ["com.example.live", "com.example.live.voip"])
    #expect(contents.isForSandbox && contents.isForProduction)
    // 2036-11-20T02:29:59Z
    #expect(contents.expiresAt == 2_110_760_999)
  }

  @Test func saysWhatIsMissing() {
    #expect(code(Array(SampleCertificate.certificate.utf8), nil) == .badKey)
    #expect(code(Array(SampleCertificate.key.utf8), nil) == .badCertificate)
    let encrypted = Array((SampleCertificate.certificate + SampleCertificate.encryptedKey).utf8)
    #expect(code(encrypted, nil) == .badKey)
    #expect(code(encrypted, "wrong") == .badKey)
    for passphrase in ["wrong", "", nil] {
      #expect(code(Self.bytes(SampleCertificate.p12), passphrase) == .badCertificate)
      #expect(code(Self.bytes(SampleCertificate.legacyP12), passphrase) == .badCertificate)
    }
    #expect(code([], nil) == .badCertificate)
    #expect(code(Array("garbage".utf8), nil) == .badCertificate)
  }

  @Test func refusesAKeyOfAnotherCertificate() throws {
    let other = try ES256Key.generate().privateKeyPEM
    #expect(code(Array((SampleCertificate.certificate + other).utf8), nil) == .badKey)
  }

  /// Cut off anywhere it is refused, not misread.
  @Test func refusesHalfOfAFile() {
    let whole = Self.bytes(SampleCertificate.p12)
    for count in stride(from: 0, to: whole.count, by: 37) {
      _ = code(Array(whole.prefix(count)), SampleCertificate.passphrase)
    }
  }

  @Test func listsTopics() {
    for topics in [[], ["a"], ["com.example.live", "com.example.live.voip"]] {
      #expect(TopicList.topics(der: TopicList.der(topics: topics)) == topics)
    }
    let long = (0..<900).map { "com.example.number\($0)" }
    #expect(TopicList.topics(der: TopicList.der(topics: long)) == long)
    for fault: [UInt8] in [
      [], [0x30], [0x30, 1], [0x30, 2, 0x0C, 5], [0x30, 0x80], [0x30, 0x84, 0, 0, 0, 0], [4, 0],
      [0x30, 0, 0], [0x30, 3, 0x0C, 1, 0xFF],
    ] {
      #expect(TopicList.topics(der: fault) == nil)
    }
  }

  @Test(arguments: ["own", "strange", "expired", "none"])
  func theServerSeesWhoTheClientIs(kind: String) throws {
    let directory = try #require(TemporaryDirectory())
    let authority = try ThrowAwayAuthority(hosts: ["127.0.0.1"])
    let files = try authority.write(to: directory.path)
    let server = try TLSServerContext(
      certificateFile: files.certificate, keyFile: files.key, alpn: ["h2"],
      clientAuthorityFile: files.authority)
    let issuer = kind == "strange" ? try ThrowAwayAuthority(hosts: []) : authority
    let made = try issuer.client(
      subjectID: "com.example.live", topics: nil, days: kind == "expired" ? -2 : 30)
    let certificate =
      kind == "none" ? nil : try ClientCertificate(file: Array(made.utf8), passphrase: nil)
    let client = try TLSClientContext(
      caFile: files.authority, alpn: ["h2"], certificate: certificate)
    let pair = try SessionPair(client: client, server: server, host: "127.0.0.1")
    try pair.shakeHands()
    #expect(pair.client.isEstablished && pair.server.isEstablished)
    #expect(pair.server.peer?.isInOrder == (kind == "none" ? nil : kind == "own"))
    let subject = pair.server.peer?.contents.subjectID
    #expect(subject == (kind == "none" ? nil : "com.example.live"))
  }
}

/// For the files of one test.
final class TemporaryDirectory {
  let path: String

  init?() {
    path = NSTemporaryDirectory() + "fanfare-client-" + UUID().uuidString
    let manager = FileManager.default
    guard (try? manager.createDirectory(atPath: path, withIntermediateDirectories: false)) != nil
    else { return nil }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
