import Model
import Subscriptions
import Text

/// One kind of the devices of a synthetic audience: where their pushes go, how many of all devices
/// are of it, and which of its tokens are dead.
package struct SyntheticDevices: Sendable {
  package let destination: Destination
  /// Share of all devices, 0…1; those of an audience's kinds are 1 together.
  package let share: Double
  /// The beginning of the tokens that the platform's simulator answers as gone; empty: none is.
  package let deadTokenPrefix: String
  /// Of a kind whose tokens its simulator makes; nil: they are made here.
  private let subscription: SubscriptionMaker?
  /// Of browsers: the VAPID key pair that they subscribed with.
  private let keyID: String

  /// An Apple token takes at most 32 digits of the prefix, so that tokens stay distinct.
  package init(_ destination: Destination, share: Double = 1, deadTokenPrefix: String = "") {
    self.destination = destination
    self.share = share
    subscription = nil
    keyID = ""
    switch destination.platform.tokens {
    case .hex: self.deadTokenPrefix = String(deadTokenPrefix.prefix(32)).lowercased()
    case .opaque: self.deadTokenPrefix = deadTokenPrefix
    }
  }

  /// A browser's subscription by its number, always the same one: endpoint, public key (65 bytes)
  /// and secret (16 bytes).
  /// - Parameter isDead: the push service answers it as gone.
  package typealias SubscriptionMaker =
    @Sendable (_ number: Int, _ isDead: Bool) -> (
      endpoint: String, publicKey: [UInt8], secret: [UInt8]
    )

  /// Browsers, whose subscriptions the simulator of their push services knows.
  /// - Parameter keyID: of the VAPID key pair that they subscribed with.
  package init(
    browsersOf keyID: String, share: Double, _ subscription: @escaping SubscriptionMaker
  ) {
    destination = .webpush
    self.share = share
    deadTokenPrefix = ""
    self.subscription = subscription
    self.keyID = keyID
  }

  /// Whether some of them can be dead.
  var canBeDead: Bool { subscription != nil || !deadTokenPrefix.isEmpty }

  /// The token of a device, and the keys that messages for it are encrypted with.
  /// - Parameters:
  ///   - number: of the device, distinct for distinct ones.
  ///   - seed: likewise.
  func device(_ number: Int, _ seed: UInt64, isDead: Bool) -> (token: String, keys: String) {
    guard let subscription else { return (token(seed, isDead: isDead), "") }
    let made = subscription(number, isDead)
    let keys = SubscriptionKeys.text(
      publicKey: made.publicKey, secret: made.secret, keyID: keyID)
    return (made.endpoint, keys)
  }

  /// The token of a device, distinct for distinct seeds.
  private func token(_ seed: UInt64, isDead: Bool) -> String {
    switch destination.platform.tokens {
    case .hex: hexToken(seed, isDead ? Array(deadTokenPrefix.utf8) : [])
    case .opaque: opaqueToken(seed, isDead ? Array(deadTokenPrefix.utf8) : [])
    }
  }

  /// 64 hex digits. The last 16 are the seed.
  private func hexToken(_ seed: UInt64, _ prefix: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: 64) { digits in
      var state = seed
      for word in 0..<4 {
        state = word == 3 ? seed : SplitMix64.value(of: state)
        for digit in 0..<16 {
          digits[16 * word + digit] =
            UInt8(truncatingIfNeeded: state >> UInt64(60 - 4 * digit)).lastHexDigit
        }
      }
      // A living token must not begin as a dead one by chance.
      if prefix.isEmpty, digits[0] == deadTokenPrefix.utf8.first {
        digits[0] = digits[0] == 0x31 ? 0x32 : 0x31
      }
      for (position, digit) in prefix.enumerated() { digits[position] = digit }
      return 64
    }
  }

  /// Firebase's are of this form: an id of 22 characters, a colon, and a long text that begins with
  /// `APA91b`. The last 11 characters are the seed. A dead one has the prefix before it.
  private func opaqueToken(_ seed: UInt64, _ prefix: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: prefix.count + Self.opaqueBytes) { text in
      for (position, byte) in prefix.enumerated() { text[position] = byte }
      let start = prefix.count
      var state = seed
      var bits = 0
      for position in 0..<Self.opaqueBytes - Self.seedCharacters {
        if bits < 6 {
          state = SplitMix64.value(of: state)
          bits = 64
        }
        bits -= 6
        text[start + position] = Self.alphabet[Int(truncatingIfNeeded: state >> UInt64(bits)) & 63]
      }
      for (position, byte) in Self.mark.enumerated() { text[start + 22 + position] = byte }
      for position in 0..<Self.seedCharacters {
        text[start + Self.opaqueBytes - 1 - position] =
          Self.alphabet[Int(truncatingIfNeeded: seed >> UInt64(6 * position)) & 63]
      }
      if prefix.isEmpty, text[0] == deadTokenPrefix.utf8.first {
        text[0] = text[0] == UInt8(ascii: "x") ? UInt8(ascii: "y") : UInt8(ascii: "x")
      }
      return start + Self.opaqueBytes
    }
  }

  private static let opaqueBytes = 163
  /// Six bits each.
  private static let seedCharacters = 11
  private static let mark = Array(":APA91b".utf8)
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}
