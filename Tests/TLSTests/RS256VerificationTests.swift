import TLS
import Testing

@Suite struct RS256VerificationTests {
  @Test func aMadeKeySignsWhatItsPublicHalfVerifies() throws {
    let pair = try RS256KeyPair.generate()
    let key = try RS256Key(pem: pair.privateKeyPEM)
    let publicKey = try RS256PublicKey(pem: pair.publicKeyPEM)
    let message = Array("a message".utf8)
    var signature = try key.sign(message)
    #expect(signature.count == 256)
    #expect(publicKey.verify(message, signature: signature))
    #expect(!publicKey.verify(message + [0], signature: signature))
    #expect(!publicKey.verify(message, signature: []))
    signature[100] ^= 1
    #expect(!publicKey.verify(message, signature: signature))
    let stranger = try RS256PublicKey(pem: RS256KeyPair.generate().publicKeyPEM)
    #expect(!stranger.verify(message, signature: try key.sign(message)))
  }

  @Test func otherKeysAreRefused() throws {
    let other = try ES256Key.generate().publicKeyPEM
    #expect((try? RS256PublicKey(pem: other)) == nil)
    #expect((try? RS256PublicKey(pem: "nothing")) == nil)
  }
}
