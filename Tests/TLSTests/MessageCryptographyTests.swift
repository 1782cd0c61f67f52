import TLS
import Testing
import Text

/// Key agreement, codes and authenticated encryption, each against values that others computed.
@Suite struct MessageCryptographyTests {
  /// RFC 8291, appendix A.
  private static let ourSecret = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
  private static let ourPoint =
    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
  private static let theirPoint =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
  private static let agreed = "kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs"
  /// RFC 6979, A.2.5.
  private static let signer = "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721"
  private static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"

  private static func bytes(_ text: String) throws -> [UInt8] {
    try #require(Base64URL.decode(text.utf8))
  }

  private static func hex(_ text: String) -> [UInt8] {
    let digits = Array(text.utf8)
    return stride(from: 0, to: digits.count, by: 2).map {
      (digits[$0].hexValue ?? 0) << 4 | (digits[$0 + 1].hexValue ?? 0)
    }
  }

  private static func agree(_ pair: P256KeyPair, _ point: [UInt8]) throws(TLSError) -> [UInt8] {
    var shared = [UInt8](repeating: 0, count: P256KeyPair.secretBytes)
    let target = UnsafeMutableRawPointer.allocate(byteCount: shared.count, alignment: 1)
    defer { target.deallocate() }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: point.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: point)
    try pair.agree(with: UnsafeRawBufferPointer(copy), to: target)
    shared.withUnsafeMutableBytes { $0.copyMemory(from: .init(start: target, count: $0.count)) }
    return shared
  }

  @Test func agreesAsTheRFCDoes() throws {
    let pair = try P256KeyPair(privateKey: Self.bytes(Self.ourSecret))
    #expect(try pair.publicPoint == Self.bytes(Self.ourPoint))
    #expect(try Self.agree(pair, Self.bytes(Self.theirPoint)) == Self.bytes(Self.agreed))
  }

  @Test func bothSidesAgree() throws {
    let one = try P256KeyPair.generate()
    let other = try P256KeyPair.generate()
    let agreed = try Self.agree(one, other.publicPoint)
    #expect(try agreed == Self.agree(other, one.publicPoint))
    #expect(try agreed != Self.agree(one, one.publicPoint))
    #expect(one.publicPoint != other.publicPoint)
  }

  @Test func refusesWhatIsNoPointOfTheCurve() throws {
    let pair = try P256KeyPair.generate()
    let point = try Self.bytes(Self.theirPoint)
    #expect(P256KeyPair.isPoint(point))
    let off = Array(point.dropLast()) + [point[64] ^ 1]
    let compressed = [UInt8(2)] + point[1...32]
    let hybrid = [UInt8(6)] + point[1...]
    let zero = [UInt8(4)] + [UInt8](repeating: 0, count: 64)
    let shapes = [off, compressed, hybrid, zero, [0], [], Array(point.dropLast()), point + [0]]
    for refused in shapes {
      #expect(!P256KeyPair.isPoint(refused))
      #expect((try? Self.agree(pair, refused)) == nil)
    }
  }

  @Test func refusesPrivateKeysThatAreNone() throws {
    let zero = [UInt8](repeating: 0, count: 32)
    var beyond = Self.hex(Self.order)
    beyond[31] += 1
    for refused in [[], zero, Self.hex(Self.order), beyond, Self.hex(Self.signer) + [0]] {
      #expect((try? P256KeyPair(privateKey: refused)) == nil)
      #expect((try? ES256Key(privateKey: refused)) == nil)
    }
    let one = Array(zero.dropLast()) + [1]
    #expect(try P256KeyPair(privateKey: one).publicPoint == ES256Key(privateKey: one).publicPoint())
  }

  @Test func aRawPrivateKeySignsLikeItsPEM() throws {
    let key = try ES256Key(privateKey: Self.hex(Self.signer))
    let signature = try Hexadecimal.text(key.sign(Array("sample".utf8)))
    #expect(signature.hasPrefix("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"))
    let point =
      "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
      + "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
    #expect(try Hexadecimal.text(key.publicPoint()) == point)
    #expect(try ES256Key(pem: key.privateKeyPEM).publicPoint() == key.publicPoint())
  }

  @Test func aPointVerifiesWhatItsKeySigned() throws {
    let key = try ES256Key.generate()
    let message = Array("sample".utf8)
    let signature = try key.sign(message)
    let point = try key.publicPoint()
    #expect(try ES256PublicKey(point: point).verify(message, signature: signature))
    let other = try ES256PublicKey(point: ES256Key.generate().publicPoint())
    #expect(!other.verify(message, signature: signature))
    let flipped = Array(point[..<64]) + [point[64] ^ 1]
    for bytes in [[], Array(point.dropLast()), point + [0], [2] + point[1...], flipped] {
      #expect(throws: TLSError.self) { try ES256PublicKey(point: bytes) }
    }
  }

  /// RFC 4231, section 4: cases 1, 2 and 6.
  @Test(arguments: [
    (
      [UInt8](repeating: 0x0B, count: 20), "Hi There",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), "what do ya want for nothing?",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      [UInt8](repeating: 0xAA, count: 131),
      "Test Using Larger Than Block-Size Key - Hash Key First",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
  ])
  func makesTheRFCsCodes(key: [UInt8], message: String, code: String) throws {
    let hmac = try HMACSHA256()
    let target = UnsafeMutableRawPointer.allocate(byteCount: HMACSHA256.byteCount, alignment: 1)
    defer { target.deallocate() }
    // Twice, since it keeps its memory.
    for _ in 0..<2 {
      try key.withUnsafeBytes { key in
        try Array(message.utf8).withUnsafeBytes { try hmac.code(key: key, $0, to: target) }
      }
      let made = Array(UnsafeRawBufferPointer(start: target, count: HMACSHA256.byteCount))
      #expect(Hexadecimal.text(made) == code)
    }
  }

  /// The first cases of "The Galois/Counter Mode of Operation" (McGrew and Viega), appendix B.
  @Test func sealsAsTheAuthorsOfGCMDo() throws {
    let cipher = try AES128GCM()
    let zero = [UInt8](repeating: 0, count: 16)
    let nonce = [UInt8](repeating: 0, count: 12)
    let empty = try Self.seal(cipher, [], [], zero, nonce)
    #expect(Hexadecimal.text(empty) == "58e2fccefa7e3061367f1d57a4e7455a")
    let block = "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"
    #expect(try Hexadecimal.text(Self.seal(cipher, zero, [], zero, nonce)) == block)
    // The message may come in two parts.
    for parts in [5, 15] {
      let sealed = try Self.seal(
        cipher, Array(zero[..<parts]), Array(zero[parts...]), zero, nonce)
      #expect(Hexadecimal.text(sealed) == block)
    }
    #expect(cipher.open(Self.hex(block), key: zero, nonce: nonce) == zero)
    #expect(cipher.open(empty, key: zero, nonce: nonce) == [])
    var forged = Self.hex(block)
    forged[0] ^= 1
    #expect(cipher.open(forged, key: zero, nonce: nonce) == nil)
    #expect(cipher.open(Array(forged.prefix(15)), key: zero, nonce: nonce) == nil)
    // It seals again after it has opened.
    #expect(try Hexadecimal.text(Self.seal(cipher, zero, [], zero, nonce)) == block)
  }

  private static func seal(
    _ cipher: AES128GCM, _ first: [UInt8], _ second: [UInt8], _ key: [UInt8], _ nonce: [UInt8]
  ) throws -> [UInt8] {
    var sealed = [UInt8](repeating: 0, count: first.count + second.count + AES128GCM.tagBytes)
    try sealed.withUnsafeMutableBytes { target in
      let start = try #require(target.baseAddress)
      try first.withUnsafeBytes { first in
        try second.withUnsafeBytes { second in
          try key.withUnsafeBytes { key in
            try nonce.withUnsafeBytes { nonce in
              try cipher.seal(
                first, second, key: #require(key.baseAddress), nonce: #require(nonce.baseAddress),
                to: start)
            }
          }
        }
      }
    }
    return sealed
  }
}
