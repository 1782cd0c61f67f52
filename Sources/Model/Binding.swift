import Text

/// A user-to-token binding; its `member` is what the user's set of bindings holds.
package struct Binding: Sendable, Equatable, Hashable {
  package let destination: Destination
  /// The app that the token was registered for. Of APNs its topic: the app's bundle id, and behind
  /// it the suffix of the push type unless that is alert or background (Apple, "Sending
  /// notification requests to APNs"). PushKit, Live Activities, location, push-to-talk, widgets and
  /// controls each give an app a token of its own, and Apple refuses it for any other topic.
  package let topic: String
  /// The keys that messages for the device are encrypted with: of Web Push
  /// `<p256dh>.<auth>.<key id>` (see `SubscriptionKeys`). Empty for platforms without.
  package let keys: String
  /// As the platform's `TokenFormat` stores it.
  package let token: String

  package static let maximumTopicBytes = 255
  /// Platforms whose members have a field more than others: for the environment, or for keys.
  private static let longer = ["\(Platform.apns.name):", "\(Platform.webpush.name):"]
  /// Of a member: its platform and environment.
  private static let maximumPrefixBytes = 32
  /// A longer member is none, whatever the platform.
  package static var maximumMemberBytes: Int {
    let rest = Destination.all.map {
      $0.platform.tokens.maximumBytes + ($0.platform.keyBytes?.upperBound ?? 0)
    }
    return maximumPrefixBytes + maximumTopicBytes + 2 + (rest.max() ?? 0)
  }

  /// Enough of the token to tell devices of one user apart, for whoever is not to send to it. Of an
  /// endpoint the host and the end.
  package var shortToken: String {
    guard destination == .webpush else { return "\(token.prefix(8))…" }
    return "\(token.dropFirst(8).prefix { $0 != "/" })/…\(token.suffix(6))"
  }

  /// Nil unless `topic` is one (letters, digits, `.` and `-`), `keys` are there where the platform
  /// has some, and `token` is of the platform's format; upper-case hex digits are lowered, nothing
  /// else is mended.
  package init?(destination: Destination, topic: String, keys: String = "", token: String) {
    let platform = destination.platform
    guard Self.isTopic(topic), let token = platform.tokens.stored(token),
      Array(keys.utf8).withUnsafeBytes(platform.acceptsKeys)
    else { return nil }
    self.destination = destination
    self.topic = topic
    self.keys = keys
    self.token = token
  }

  /// - Parameter member: exactly as `member` writes it.
  package init?(member: String) {
    self.init(foreign: member)
    guard self.member.utf8.elementsEqual(member.utf8) else { return nil }
  }

  /// - Parameter member: of somebody who does not write a token as it is stored.
  package init?(foreign member: String) {
    guard let destination = Destination(ofMember: member) else { return nil }
    let rest = member.utf8.dropFirst(destination.memberPrefix.utf8.count)
    let before = destination.platform.keyBytes == nil ? 1 : 2
    let fields = rest.split(separator: 0x3A, maxSplits: before, omittingEmptySubsequences: false)
      .map { String($0) ?? "" }
    guard fields.count == before + 1 else { return nil }
    self.init(
      destination: destination, topic: fields[0], keys: before == 2 ? fields[1] : "",
      token: fields[before])
  }

  /// The last field of a member is the rest of the text, whatever it holds: tokens may hold colons.
  /// As in `token_of.lua`.
  /// A text that is no member is returned as it is.
  package static func token(ofMember member: String) -> String {
    let before = longer.contains { member.utf8.starts(with: $0.utf8) } ? 3 : 2
    let fields = member.utf8.split(
      separator: 0x3A, maxSplits: before, omittingEmptySubsequences: false)
    return fields.count == before + 1 ? String(fields[before]) ?? member : member
  }

  package static func isTopic(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= maximumTopicBytes
      && text.utf8.allSatisfy { $0.isASCIIWord || $0 == 0x2E || $0 == 0x2D }
  }

  /// The platform, its environment if it has several, the topic, keys if there are some, the token:
  /// `apns:production:com.example.app:00ff…`, `fcm:com.example.app:dQw4…`,
  /// `webpush:com.example.app:BCVx….BTBZ….main:https://…`.
  package var member: String {
    destination.memberPrefix + topic + ":" + (keys.isEmpty ? "" : keys + ":") + token
  }
}

extension Platform {
  /// Whether these bytes may be the keys of a binding, as many as the platform's `keyBytes` says.
  func acceptsKeys(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let keyBytes else { return bytes.isEmpty }
    return keyBytes.contains(bytes.count) && Self.areKeys(bytes)
  }

  /// Letters, digits, `.`, `_` and `-`.
  package static func areKeys(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.allSatisfy { $0.isASCIIWord || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F }
  }
}

extension Platform.TokenFormat {
  /// A token as it is stored; nil for none of this format.
  package func stored(_ token: String) -> String? {
    switch self {
    case .hex:
      var token = token
      let isStored = token.withUTF8 { digits -> Bool? in
        guard accepts(UnsafeRawBufferPointer(digits)) else { return nil }
        return digits.allSatisfy { $0 == $0.asciiLowered }
      }
      guard let isStored else { return nil }
      return isStored ? token : String(decoding: token.utf8.map(\.asciiLowered), as: UTF8.self)
    case .opaque: return Array(token.utf8).withUnsafeBytes(accepts) ? token : nil
    }
  }

  /// Whether these bytes are a token. Hex digits in either case. Without a branch per byte, so that
  /// the compiler makes vector code of it.
  package func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard !bytes.isEmpty, bytes.count <= maximumBytes else { return false }
    var wrong: UInt8 = 0
    switch self {
    case .hex:
      guard bytes.count % 2 == 0 else { return false }
      for byte in bytes {
        let isDigit: UInt8 = byte &- 0x30 < 10 ? 1 : 0
        let isLetter: UInt8 = (byte | 0x20) &- 0x61 < 6 ? 1 : 0
        wrong |= (isDigit | isLetter) ^ 1
      }
    case .opaque:
      for byte in bytes { wrong |= byte.isSafeInKey ? 0 : 1 }
    }
    return wrong == 0
  }
}

/// When a device can have been bound. A time outside of that was written in other units, or by a
/// clock that is wrong: nothing can be told by it.
package enum BindingTime {
  /// 2009-06-01T00:00:00Z, in ms since 1970: Apple's push service began on 2009-06-17.
  package static let earliest: Int64 = 1_243_814_400_000
  /// 2100-01-01T00:00:00Z: what claims to be later was written in other units.
  package static let latest: Int64 = 4_102_444_800_000
  /// A day, in ms: so far another clock may be ahead.
  package static let tolerance: Int64 = 86_400_000

  /// - Parameter now: ms since 1970.
  package static func isPossible(_ time: Int64, now: Int64) -> Bool {
    time >= earliest && time <= now + tolerance
  }
}
