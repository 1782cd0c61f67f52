import TLS
import Text

/// Decrypts messages as the browser of a subscription does (RFC 8291 and RFC 8188), from the text
/// of the RFCs. Confined to the simulator's loop.
///
/// What two keys agree on is remembered, 4,096 pairs of keys at most: a sender that keeps its key
/// for a while costs the curve once for each subscriber's key.
final class MessageReader {
  private struct Agreement: Hashable {
    let subscriber: ObjectIdentifier
    let sender: [UInt8]
  }

  /// Salt, size of records, length of the sender's key, and the key.
  private static let headerBytes = 16 + 4 + 1 + P256KeyPair.pointBytes
  private static let mostKept = 4096
  private static let contentKeyInfo = Array("Content-Encoding: aes128gcm".utf8) + [0, 1]
  private static let nonceInfo = Array("Content-Encoding: nonce".utf8) + [0, 1]

  private let cipher: AES128GCM
  private let hmac: HMACSHA256
  private var agreements: [Agreement: [UInt8]] = [:]

  init() throws(TLSError) {
    cipher = try AES128GCM()
    hmac = try HMACSHA256()
  }

  /// The message, without its padding.
  /// - Parameters:
  ///   - pair: the subscriber's; the caller keeps it.
  ///   - secret: the subscription's `auth`, 16 bytes.
  func read(
    _ body: [UInt8], pair: P256KeyPair, secret: [UInt8]
  ) throws(WebPushRefusal) -> [UInt8] {
    guard body.count > Self.headerBytes + AES128GCM.tagBytes else {
      throw WebPushRefusal(.unreadable, "the body is shorter than a message of nothing")
    }
    guard Int(body[20]) == P256KeyPair.pointBytes else {
      throw WebPushRefusal(.unreadable, "the header's keyid is not a key of 65 bytes")
    }
    let recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
    let record = Array(body[Self.headerBytes...])
    // RFC 8188, section 2.1, and RFC 8291, section 4: a message is one record.
    guard recordSize >= 18, record.count <= recordSize else {
      throw WebPushRefusal(.unreadable, "the message is not one record of the header's size")
    }
    let sender = Array(body[21..<Self.headerBytes])
    guard P256KeyPair.isPoint(sender) else {
      throw WebPushRefusal(.unreadable, "the sender's key is not a point of P-256")
    }
    let plain: [UInt8]?
    do throws(TLSError) {
      let shared = try agree(pair, sender)
      plain = try open(record, salt: Array(body[..<16]), shared, pair, sender, secret)
    } catch {
      throw WebPushRefusal(.unreadable, "\(error)")
    }
    guard let plain else {
      throw WebPushRefusal(.unreadable, "the message is not for the keys of this subscription")
    }
    guard let end = plain.lastIndex(where: { $0 != 0 }), plain[end] == 2 else {
      throw WebPushRefusal(.unreadable, "the delimiter of the last record is not 2")
    }
    return Array(plain[..<end])
  }

  private func agree(_ pair: P256KeyPair, _ sender: [UInt8]) throws(TLSError) -> [UInt8] {
    let agreement = Agreement(subscriber: ObjectIdentifier(pair), sender: sender)
    if let known = agreements[agreement] { return known }
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: P256KeyPair.secretBytes + sender.count, alignment: 1)
    defer { memory.deallocate() }
    guard let start = memory.baseAddress else { return [] }
    let point = start + P256KeyPair.secretBytes
    UnsafeMutableRawBufferPointer(start: point, count: sender.count).copyBytes(from: sender)
    try pair.agree(with: UnsafeRawBufferPointer(start: point, count: sender.count), to: start)
    let shared = Array(memory[..<P256KeyPair.secretBytes])
    if agreements.count >= Self.mostKept { agreements.removeAll() }
    agreements[agreement] = shared
    return shared
  }

  /// The names are those of RFC 8291, section 3.4.
  private func open(
    _ record: [UInt8], salt: [UInt8], _ ecdhSecret: [UInt8], _ pair: P256KeyPair,
    _ sender: [UInt8], _ authSecret: [UInt8]
  ) throws(TLSError) -> [UInt8]? {
    let prkKey = try hmac.code(key: authSecret, ecdhSecret)
    let keyInfo = Array("WebPush: info".utf8) + [0] + pair.publicPoint + sender + [1]
    let ikm = try hmac.code(key: prkKey, keyInfo)
    let prk = try hmac.code(key: salt, ikm)
    let contentKey = try hmac.code(key: prk, Self.contentKeyInfo)
    let nonce = try hmac.code(key: prk, Self.nonceInfo)
    return cipher.open(record, key: Array(contentKey[..<16]), nonce: Array(nonce[..<12]))
  }
}
