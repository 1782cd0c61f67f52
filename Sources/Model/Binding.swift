import Text

/// A user-to-token binding; its `member` is what the user's set of bindings holds.
package struct Binding: Sendable, Equatable, Hashable {
  package let environment: APNsEnvironment
  /// The APNs topic that the token was registered for: the app's bundle id, and behind it the
  /// suffix of the push type unless that is alert or background (Apple, "Sending notification
  /// requests to APNs"). PushKit, Live Activities, location, push-to-talk, widgets and controls
  /// each give an app a token of its own, and Apple refuses it for any other topic.
  package let topic: String
  /// Lower-case hex, an even number of digits, 2…`maximumTokenDigits`. Apple: "never assume a
  /// size".
  package let token: String

  package static let maximumTokenDigits = 512
  package static let maximumTopicBytes = 255

  /// Enough of the token to tell devices of one user apart, for whoever is not to send to it.
  package var shortToken: String { "\(token.prefix(8))…" }

  /// Nil unless `topic` is one (letters, digits, `.` and `-`) and `token` is hex;
  /// upper-case digits are lowered, nothing else is mended.
  package init?(environment: APNsEnvironment, topic: String, token: String) {
    guard Self.isTopic(topic) else { return nil }
    guard let token = Self.lowered(token) else { return nil }
    self.environment = environment
    self.topic = topic
    self.token = token
  }

  /// Nil: it is no token.
  private static func lowered(_ token: String) -> String? {
    var token = token
    let isLowered = token.withUTF8 { digits -> Bool? in
      guard digits.count >= 2, digits.count <= maximumTokenDigits, digits.count % 2 == 0 else {
        return nil
      }
      var isLowered = true
      for digit in digits {
        guard digit.isASCIIHexDigit else { return nil }
        if digit != digit.asciiLowered { isLowered = false }
      }
      return isLowered
    }
    guard let isLowered else { return nil }
    return isLowered ? token : String(decoding: token.utf8.map(\.asciiLowered), as: UTF8.self)
  }

  /// - Parameter member: `apns:<environment>:<topic>:<token>`, exactly as `member` writes it.
  package init?(member: String) {
    let parts = member.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] == "apns",
      let environment = APNsEnvironment.allCases.first(where: { $0.name == parts[1] })
    else { return nil }
    self.init(environment: environment, topic: String(parts[2]), token: String(parts[3]))
    guard self.member.utf8.elementsEqual(member.utf8) else { return nil }
  }

  package static func isTopic(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= maximumTopicBytes
      && text.utf8.allSatisfy { $0.isASCIIWord || $0 == 0x2E || $0 == 0x2D }
  }

  private static let sandboxPrefix = "apns:\(APNsEnvironment.sandbox.name):"

  /// Of what stands in a user's set of bindings.
  static func environment(ofMember member: String) -> APNsEnvironment {
    member.utf8.starts(with: sandboxPrefix.utf8) ? .sandbox : .production
  }

  /// `apns:<production or sandbox>:<topic>:<token>`
  package var member: String { "apns:\(environment.name):\(topic):\(token)" }
}
