import TLS
import Text

/// The keys of a subscription: what a message for it is encrypted with (RFC 8291, section 2). In a
/// binding they stand as text: the browser's `p256dh`, its `auth`, and the id of the VAPID key pair
/// that the subscription was made with, with dots between.
package struct SubscriptionKeys: Sendable, Equatable {
  package static let publicKeyBytes = P256KeyPair.pointBytes
  package static let secretBytes = 16
  package static let byteCount = publicKeyBytes + secretBytes

  /// Why the text of a subscription's keys is refused.
  package enum Problem: Error, Sendable, Equatable, CustomStringConvertible {
    case publicKeyText, publicKeyLength, publicKeyForm, publicKeyPoint, secretText, secretLength

    package var description: String {
      switch self {
      case .publicKeyText: "keys.p256dh is not base64url"
      case .publicKeyLength: "keys.p256dh must be 65 bytes"
      case .publicKeyForm: "keys.p256dh must be an uncompressed point, which begins with the byte 4"
      case .publicKeyPoint: "keys.p256dh is not a point of the curve P-256"
      case .secretText: "keys.auth is not base64url"
      case .secretLength: "keys.auth must be 16 bytes"
      }
    }
  }

  /// 65 bytes of public key, then 16 of secret.
  package let bytes: [UInt8]
  package var publicKey: ArraySlice<UInt8> { bytes[..<Self.publicKeyBytes] }
  package var secret: ArraySlice<UInt8> { bytes[Self.publicKeyBytes...] }

  /// - Parameters:
  ///   - p256dh: as the browser's `PushSubscription` names and writes it: base64url. Some clients
  ///     write the standard alphabet, or padding.
  ///   - auth: as above.
  package init(p256dh: String, auth: String) throws(Problem) {
    guard let publicKey = Self.decode(p256dh) else { throw .publicKeyText }
    guard publicKey.count == Self.publicKeyBytes else { throw .publicKeyLength }
    guard publicKey.first == 4 else { throw .publicKeyForm }
    guard P256KeyPair.isPoint(publicKey) else { throw .publicKeyPoint }
    guard let secret = Self.decode(auth) else { throw .secretText }
    guard secret.count == Self.secretBytes else { throw .secretLength }
    bytes = publicKey + secret
  }

  // MARK: in a binding

  private static let publicKeyCharacters = 87
  private static let secretCharacters = 22
  private static let dot = UInt8(ascii: ".")

  /// - Parameter keyID: of the VAPID key pair.
  package func text(keyID: String) -> String {
    Self.text(publicKey: Array(publicKey), secret: Array(secret), keyID: keyID)
  }

  /// The same of keys that need no check.
  package static func text(publicKey: [UInt8], secret: [UInt8], keyID: String) -> String {
    "\(Base64URL.encode(publicKey)).\(Base64URL.encode(secret)).\(keyID)"
  }

  /// Reads what `text` wrote. Asked of each push, so it allocates nothing.
  /// - Parameter keys: `byteCount` bytes.
  /// - Returns: the id of the VAPID key pair; nil for what is no such text.
  package static func read(
    _ text: UnsafeRawBufferPointer, to keys: UnsafeMutableRawPointer
  ) -> UnsafeRawBufferPointer? {
    let secretStart = publicKeyCharacters + 1
    let end = secretStart + secretCharacters
    guard text.count > end + 1, text[publicKeyCharacters] == dot, text[end] == dot,
      decode(text[..<publicKeyCharacters], to: keys) == publicKeyBytes,
      decode(text[secretStart..<end], to: keys + publicKeyBytes) == secretBytes
    else { return nil }
    return UnsafeRawBufferPointer(rebasing: text[(end + 1)...])
  }

  private static func decode(
    _ text: Slice<UnsafeRawBufferPointer>, to bytes: UnsafeMutableRawPointer
  ) -> Int? {
    Base64URL.decode(UnsafeRawBufferPointer(rebasing: text), to: bytes)
  }

  private static func decode(_ text: String) -> [UInt8]? {
    var characters = Array(text.utf8)
    for _ in 0..<2 where characters.last == UInt8(ascii: "=") { characters.removeLast() }
    for index in characters.indices {
      if characters[index] == UInt8(ascii: "+") { characters[index] = UInt8(ascii: "-") }
      if characters[index] == UInt8(ascii: "/") { characters[index] = UInt8(ascii: "_") }
    }
    return Base64URL.decode(characters)
  }
}
