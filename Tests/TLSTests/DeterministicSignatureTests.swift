import TLS
import Testing
import Text

/// RFC 6979, A.2.5: P-256 with SHA-256.
@Suite struct DeterministicSignatureTests {
  private static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgya+p2EW6dRZrXCFX
    Z7HWk05Qw9s26JsSe4piKxIPZyGhRANCAARg/tS6JVqdMclh63TGNW1owEm4kjth
    +mzmaWIuYPKftnkD/hAIuLyZpBrp6VYovGTy8bIMLX6fUXejwpTURiKZ
    -----END PRIVATE KEY-----
    """

  @Test(arguments: [
    (
      "sample",
      "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
        + "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
    ),
    (
      "test",
      "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367"
        + "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083"
    ),
  ])
  func signsAsTheRFCSays(message: String, signature: String) throws {
    let signed = try ES256Key(pem: Self.key).sign(Array(message.utf8))
    #expect(Hexadecimal.text(signed) == signature)
  }

  @Test func signsAMessageInOneWayAndEachMessageInAnother() throws {
    let key = try ES256Key(pem: Self.key)
    let again = try ES256Key(pem: Self.key)
    let signatures = try (0..<50).map { try key.sign(Array("\($0)".utf8)) }
    let others = try (0..<50).map { try again.sign(Array("\($0)".utf8)) }
    #expect(signatures == others)
    // A nonce that comes twice gives the key away: r would be the same.
    #expect(Set(signatures.map { Array($0.prefix(32)) }).count == 50)
  }
}
