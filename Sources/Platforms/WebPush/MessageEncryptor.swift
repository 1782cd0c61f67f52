import Subscriptions
import TLS

/// Encrypts messages for subscriptions (RFC 8291) as one record each (RFC 8188), and allocates
/// nothing where the secret of the subscription is known. Confined to its user.
package final class MessageEncryptor {
  /// Salt, size of records, length of the sender's key, and the key.
  static let headerBytes = 16 + 4 + 1 + P256KeyPair.pointBytes
  /// Push services need not take larger bodies (RFC 8030, section 7.2).
  package static let maximumBodyBytes = 4096
  /// The delimiter and the tag are the rest of a body.
  package static let maximumMessageBytes = maximumBodyBytes - headerBytes - 1 - AES128GCM.tagBytes
  private static let recordSize: UInt32 = 4096

  /// Messages are filled up to one of these lengths, so that a push service learns little from
  /// them. Firefox for Android takes no longer ones than the last.
  static let lengths = [128, 256, 512, 1024, 2048, 2800]

  private let encryption: MessageEncryption
  private let schedule: KeySchedule
  private let cipher: AES128GCM
  /// The delimiter of the last record, then zeros.
  private let padding: UnsafeMutableRawBufferPointer

  package init(_ encryption: MessageEncryption) throws(TLSError) {
    self.encryption = encryption
    schedule = try KeySchedule()
    cipher = try AES128GCM()
    padding = .allocate(byteCount: Self.maximumMessageBytes + 1, alignment: 1)
    padding.initializeMemory(as: UInt8.self, repeating: 0)
    padding[0] = 2
  }

  deinit { padding.deallocate() }

  /// The length that a message is filled up to; its own where it is longer than all.
  static func paddedLength(_ count: Int) -> Int { lengths.first { $0 >= count } ?? count }

  /// Writes the body of a request.
  /// - Parameters:
  ///   - subscription: `SubscriptionKeys.bytes`.
  ///   - body: `maximumBodyBytes`.
  /// - Returns: the length of the body; nil for a message that is too long.
  package func encrypt(
    _ message: UnsafeRawBufferPointer, for subscription: UnsafeRawBufferPointer,
    to body: UnsafeMutableRawBufferPointer
  ) throws(TLSError) -> Int? {
    guard message.count <= Self.maximumMessageBytes else { return nil }
    try encryption.agree(with: subscription, schedule)
    try RandomBytes.fill(UnsafeMutableRawBufferPointer(rebasing: body[..<16]))
    return try seal(message, schedule, filledTo: Self.paddedLength(message.count), body)
  }

  /// Completes a body that begins with its salt.
  func seal(
    _ message: UnsafeRawBufferPointer, _ schedule: KeySchedule, filledTo length: Int,
    _ body: UnsafeMutableRawBufferPointer
  ) throws(TLSError) -> Int {
    let count = Self.headerBytes + length + 1 + AES128GCM.tagBytes
    guard let start = body.baseAddress, body.count >= count, length >= message.count else {
      preconditionFailure("a message is larger than the memory for its body")
    }
    try schedule.derive(salt: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(body)[..<16]))
    body.storeBytes(of: Self.recordSize.bigEndian, toByteOffset: 16, as: UInt32.self)
    body[20] = UInt8(P256KeyPair.pointBytes)
    (start + 21).copyMemory(from: schedule.sender, byteCount: P256KeyPair.pointBytes)
    let fill = UnsafeRawBufferPointer(rebasing: padding[..<(length - message.count + 1)])
    try cipher.seal(
      message, fill, key: schedule.contentKey, nonce: schedule.nonce, to: start + Self.headerBytes)
    return count
  }
}

/// The keys of one message, each in memory of its own, derived one from the other (RFC 8291,
/// section 3.4). The names are the RFC's: `ecdh_secret`, `PRK_key`, `IKM`, `PRK`, `CEK`, `NONCE`.
final class KeySchedule {
  private let hmac: HMACSHA256
  private let memory: UnsafeMutableRawPointer

  private static let prefix: StaticString = "WebPush: info\0"
  private static let infoBytes = prefix.utf8CodeUnitCount + 2 * P256KeyPair.pointBytes + 1
  /// The last byte of each is the counter of HKDF.
  private static let contentKeyInfo: StaticString = "Content-Encoding: aes128gcm\0\u{1}"
  private static let nonceInfo: StaticString = "Content-Encoding: nonce\0\u{1}"

  var shared: UnsafeMutableRawPointer { memory }
  var keyKey: UnsafeMutableRawPointer { memory + 32 }
  var inputKey: UnsafeMutableRawPointer { memory + 64 }
  var messageKey: UnsafeMutableRawPointer { memory + 96 }
  var contentKey: UnsafeMutableRawPointer { memory + 128 }
  var nonce: UnsafeMutableRawPointer { memory + 160 }
  private var info: UnsafeMutableRawPointer { memory + 192 }
  /// 65 bytes: the sender's public key.
  var sender: UnsafeMutableRawPointer { info + Self.infoBytes - 1 - P256KeyPair.pointBytes }

  init() throws(TLSError) {
    hmac = try HMACSHA256()
    memory = .allocate(byteCount: 192 + Self.infoBytes, alignment: 16)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: 192 + Self.infoBytes)
    info.copyMemory(from: Self.prefix.utf8Start, byteCount: Self.prefix.utf8CodeUnitCount)
    info.storeBytes(of: 1, toByteOffset: Self.infoBytes - 1, as: UInt8.self)
  }

  deinit { memory.deallocate() }

  /// The secret of `sender` and the subscription is known already.
  func use(_ sender: P256KeyPair) {
    sender.publicPoint.withUnsafeBytes {
      if let point = $0.baseAddress {
        self.sender.copyMemory(from: point, byteCount: P256KeyPair.pointBytes)
      }
    }
  }

  /// Computes the secret of `sender` and a subscription.
  func agree(
    _ sender: P256KeyPair, _ subscription: UnsafeRawBufferPointer
  ) throws(TLSError) {
    precondition(subscription.count == SubscriptionKeys.byteCount, "no keys of a subscription")
    let publicKey = UnsafeRawBufferPointer(rebasing: subscription[..<P256KeyPair.pointBytes])
    let secret = UnsafeRawBufferPointer(rebasing: subscription[P256KeyPair.pointBytes...])
    try sender.agree(with: publicKey, to: shared)
    use(sender)
    if let point = publicKey.baseAddress {
      (info + Self.prefix.utf8CodeUnitCount).copyMemory(
        from: point, byteCount: P256KeyPair.pointBytes)
    }
    try hmac.code(key: secret, bytes(shared), to: keyKey)
    let text = UnsafeRawBufferPointer(start: info, count: Self.infoBytes)
    try hmac.code(key: bytes(keyKey), text, to: inputKey)
  }

  /// Derives the key and the nonce of a message from the secret and the salt.
  func derive(salt: UnsafeRawBufferPointer) throws(TLSError) {
    try hmac.code(key: salt, bytes(inputKey), to: messageKey)
    try hmac.code(key: bytes(messageKey), Self.contentKeyInfo.bytes, to: contentKey)
    try hmac.code(key: bytes(messageKey), Self.nonceInfo.bytes, to: nonce)
  }

  private func bytes(_ start: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: start, count: HMACSHA256.byteCount)
  }
}

extension StaticString {
  fileprivate var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
  }
}
