import Model
import Text

/// A device that was quarantined, because Apple had called its token no token, or not of this app;
/// or one that was pruned, because Apple had called it gone.
package struct QuarantinedDevice: Sendable, Equatable {
  package let user: String
  package let binding: Binding
  /// Apple's reason, for instance `BadDeviceToken`.
  package let reason: String
  /// When it was set aside, ms since 1970; nil where that was not written.
  package let setAsideAt: Int64?
  /// It was pruned: whoever gives it back asks for what was pruned.
  package let isPruned: Bool
  /// When it had been bound, as it stood in Redis; nil where it did not.
  let boundAt: String?
  /// The value in Redis, unchanged.
  let value: String

  /// - Parameters:
  ///   - member: `apns:<environment>:<topic>:<token>`.
  ///   - value: the reason, alone or with the time behind it, whatever is between the two; then
  ///     perhaps `quarantined` or `pruned` and the time of the binding, or `-`.
  init?(user: String, member: String, value: String) {
    guard let binding = Binding(member: member) else { return nil }
    self.user = user
    self.binding = binding
    self.value = value
    reason = String(value.prefix { $0.isASCII && ($0.isLetter || $0.isNumber) })
    let rest = value.utf8.dropFirst(reason.utf8.count).dropFirst()
    let words = rest.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    isPruned = words.count == 3 && words[1].elementsEqual("pruned".utf8)
    let hasBound = isPruned || words.count == 3 && words[1].elementsEqual("quarantined".utf8)
    let bound = hasBound ? String(Substring(words[2])) : "-"
    boundAt = bound == "-" ? nil : bound
    let time = hasBound ? words[0] : rest
    let isWhole = rest.count == value.utf8.count - reason.utf8.count - 1
    setAsideAt = isWhole ? Self.time(time) : nil
  }

  private static func time(_ digits: Substring.UTF8View) -> Int64? {
    digits.allSatisfy(\.isASCIIDigit) ? Int64(String(Substring(digits))) : nil
  }
}
