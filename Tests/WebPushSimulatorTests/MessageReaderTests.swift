import TLS
import Testing
import Text

@testable import WebPushSimulator

/// The browser's side of RFC 8291.
@Suite struct MessageReaderTests {
  /// RFC 8291, section 5 and appendix A.
  private static let body =
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6"
    + "TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qu"
    + "lcy4a-fN"
  private static let privateKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
  private static let secret = "BTBZMqHH6r4Tts7J_aSIgg"

  private let body: [UInt8]
  private let pair: P256KeyPair
  private let secret: [UInt8]

  init() throws {
    body = try #require(Base64URL.decode(Self.body.utf8))
    pair = try P256KeyPair(privateKey: #require(Base64URL.decode(Self.privateKey.utf8)))
    secret = try #require(Base64URL.decode(Self.secret.utf8))
  }

  @Test func theRFCsMessageIsRead() throws {
    let reader = try MessageReader()
    // Twice: what the keys agree on is remembered.
    for _ in 0..<2 {
      let message = try reader.read(body, pair: pair, secret: secret)
      #expect(
        String(decoding: message, as: UTF8.self) == "When I grow up, I want to be a watermelon")
    }
  }

  @Test func aMessageForOthersIsNot() throws {
    let reader = try MessageReader()
    let other = try P256KeyPair.generate()
    #expect(throws: WebPushRefusal.self) { try reader.read(body, pair: other, secret: secret) }
    var changed = secret
    changed[0] ^= 1
    #expect(throws: WebPushRefusal.self) { try reader.read(body, pair: pair, secret: changed) }
  }

  @Test func eachByteCounts() throws {
    let reader = try MessageReader()
    // All but the size of records, which the ciphertext does not depend on.
    for index in body.indices where !(16..<20).contains(index) {
      var changed = body
      changed[index] ^= 1
      #expect(throws: WebPushRefusal.self, "byte \(index)") {
        try reader.read(changed, pair: pair, secret: secret)
      }
    }
    for count in [0, 16, 86, 102] {
      #expect(throws: WebPushRefusal.self) {
        try reader.read(Array(body[..<count]), pair: pair, secret: secret)
      }
    }
  }

  @Test(arguments: [(58, true), (57, false), (17, false), (0, false), (4096, true)])
  func aMessageIsOneRecord(size: Int, isRead: Bool) throws {
    var body = body
    for index in 0..<4 { body[16 + index] = UInt8(truncatingIfNeeded: size >> (24 - 8 * index)) }
    let reader = try MessageReader()
    let message = try? reader.read(body, pair: pair, secret: secret)
    #expect((message != nil) == isRead)
  }

  /// What is before the padding, its delimiter, and whether a browser reads it.
  @Test(
    arguments: [
      ([2], [UInt8]()), ([2, 0, 0], []), ([7, 2], [7]), ([2, 2], [2]), ([1], nil),
      ([7, 1, 0], nil),
      ([7, 0], nil), ([0], nil),
    ] as [([UInt8], [UInt8]?)])
  func theDelimiterIsTwo(plain: [UInt8], expected: [UInt8]?) throws {
    let body = try seal(plain)
    let message = try? MessageReader().read(body, pair: pair, secret: secret)
    #expect(message == expected)
  }

  /// A body with this record, from the text of RFC 8291, section 3.4.
  private func seal(_ plain: [UInt8]) throws -> [UInt8] {
    let sender = try P256KeyPair.generate()
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 1)
    defer { memory.deallocate() }
    try pair.publicPoint.withUnsafeBytes { try sender.agree(with: $0, to: memory) }
    let shared = Array(UnsafeRawBufferPointer(start: memory, count: 32))
    let hmac = try HMACSHA256()
    let salt = [UInt8](repeating: 9, count: 16)
    let info = Array("WebPush: info\0".utf8) + pair.publicPoint + sender.publicPoint + [1]
    let input = try hmac.code(key: hmac.code(key: secret, shared), info)
    let key = try hmac.code(key: salt, input)
    let content = try hmac.code(key: key, Array("Content-Encoding: aes128gcm\0\u{1}".utf8))
    let nonce = try hmac.code(key: key, Array("Content-Encoding: nonce\0\u{1}".utf8))
    try plain.withUnsafeBytes { plain in
      try content.withUnsafeBytes { content in
        try nonce.withUnsafeBytes { nonce in
          let (content, nonce) = (
            try #require(content.baseAddress), try #require(nonce.baseAddress)
          )
          try AES128GCM().seal(
            plain, UnsafeRawBufferPointer(start: nil, count: 0), key: content, nonce: nonce,
            to: memory)
        }
      }
    }
    let record = UnsafeRawBufferPointer(start: memory, count: plain.count + AES128GCM.tagBytes)
    return salt + [0, 0, 16, 0, 65] + sender.publicPoint + Array(record)
  }
}
