import Model
import Text

/// A device that was set aside, because Apple had called its token no token, or not of this app.
package struct QuarantinedDevice: Sendable, Equatable {
  package let user: String
  package let binding: Binding
  /// Apple's reason, for instance `BadDeviceToken`.
  package let reason: String
  /// When it was set aside, ms since 1970; nil where that was not written.
  package let setAsideAt: Int64?
  /// What Redis holds, unchanged.
  let value: String

  /// - Parameters:
  ///   - member: `apns:<environment>:<topic>:<token>`.
  ///   - value: the reason, alone or with the time behind it, whatever is between the two.
  init?(user: String, member: String, value: String) {
    guard let binding = Binding(member: member) else { return nil }
    self.user = user
    self.binding = binding
    self.value = value
    reason = String(value.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) })
    let rest = value.utf8.dropFirst(reason.utf8.count).dropFirst()
    setAsideAt = rest.count == value.utf8.count - reason.utf8.count - 1 ? Self.time(rest) : nil
  }

  private static func time(_ digits: Substring.UTF8View) -> Int64? {
    digits.allSatisfy(\.isASCIIDigit) ? Int64(String(Substring(digits))) : nil
  }
}
