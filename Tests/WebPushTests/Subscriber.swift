import Subscriptions
import TLS
import Testing
import Text

@testable import WebPush

/// A browser: has the private half of a subscription's key, and reads messages in its own way.
final class Subscriber {
  let pair: P256KeyPair
  let keys: SubscriptionKeys

  /// - Parameter privateKey: 32 bytes; nil: one is made.
  init(privateKey: [UInt8]? = nil) throws {
    pair = try privateKey.map { try P256KeyPair(privateKey: $0) } ?? P256KeyPair.generate()
    keys = try SubscriptionKeys(
      p256dh: Base64URL.encode(pair.publicPoint),
      auth: Base64URL.encode(SecretDigest.random(SubscriptionKeys.secretBytes)))
  }

  /// The message of a body, without its padding; nil when it is not for this one, or not in the
  /// form of RFC 8291.
  func read(_ body: [UInt8]) throws -> [UInt8]? {
    guard body.count > 103, body.count <= 4096, Array(body[16...20]) == [0, 0, 16, 0, 65] else {
      return nil
    }
    let sender = Array(body[21..<86])
    var shared = [UInt8](repeating: 0, count: 32)
    try shared.withUnsafeMutableBytes { target in
      let start = try #require(target.baseAddress)
      try sender.withUnsafeBytes { try pair.agree(with: $0, to: start) }
    }
    let first = try Self.code(Array(keys.secret), shared)
    let info = Array("WebPush: info".utf8) + [0] + pair.publicPoint + sender + [1]
    let second = try Self.code(Array(body[..<16]), Self.code(first, info))
    let key = try Self.code(second, Array("Content-Encoding: aes128gcm".utf8) + [0, 1])
    let nonce = try Self.code(second, Array("Content-Encoding: nonce".utf8) + [0, 1])
    guard
      let record = try AES128GCM().open(
        Array(body[86...]), key: Array(key[..<16]), nonce: Array(nonce[..<12]))
    else { return nil }
    guard let end = record.lastIndex(where: { $0 != 0 }), record[end] == 2 else { return nil }
    return Array(record[..<end])
  }

  private static func code(_ key: [UInt8], _ message: [UInt8]) throws -> [UInt8] {
    var code = [UInt8](repeating: 0, count: 32)
    let hmac = try HMACSHA256()
    try code.withUnsafeMutableBytes { target in
      let start = try #require(target.baseAddress)
      try key.withUnsafeBytes { key in
        try message.withUnsafeBytes { try hmac.code(key: key, $0, to: start) }
      }
    }
    return code
  }
}
