import Glibc
import Model

/// Reads members `apns:<production or sandbox>:<topic>:<token>` of a user's set, as bytes.
package struct BindingParser {
  package enum Result: Equatable {
    case addressed(tokenCount: Int, APNsEnvironment)
    case ofAnotherTopic
    case malformed
  }

  /// A longer member is none: `apns:production:`, a topic, a token.
  static let maximumMemberBytes =
    16 + Binding.maximumTopicBytes + 1 + Binding.maximumTokenDigits

  private let prefixes: [(bytes: [UInt8], environment: APNsEnvironment)]

  /// - Parameter topic: as it stands in a member, a push type's suffix with it.
  package init(topic: String) {
    prefixes = APNsEnvironment.allCases.map { (Array("apns:\($0.name):\(topic):".utf8), $0) }
  }

  package func parse(_ member: UnsafeRawBufferPointer) -> Result {
    for (prefix, environment) in prefixes where Self.begins(member, with: prefix) {
      let token = UnsafeRawBufferPointer(rebasing: member[prefix.count...])
      return Self.isToken(token)
        ? .addressed(tokenCount: token.count, environment) : .malformed
    }
    return Self.isWellFormed(member) ? .ofAnotherTopic : .malformed
  }

  private static func begins(_ member: UnsafeRawBufferPointer, with prefix: [UInt8]) -> Bool {
    guard member.count > prefix.count, let start = member.baseAddress else { return false }
    return memcmp(start, prefix, prefix.count) == 0
  }

  /// Hex digits, 2…512 of them, an even number. Without a branch per byte, so that the compiler
  /// makes vector code of it.
  static func isToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= 2, bytes.count <= Binding.maximumTokenDigits, bytes.count % 2 == 0
    else { return false }
    var wrong: UInt8 = 0
    for byte in bytes {
      let isDigit: UInt8 = byte &- 0x30 < 10 ? 1 : 0
      let isLetter: UInt8 = (byte | 0x20) &- 0x61 < 6 ? 1 : 0
      wrong |= (isDigit | isLetter) ^ 1
    }
    return wrong == 0
  }

  private static func isWellFormed(_ member: UnsafeRawBufferPointer) -> Bool {
    guard member.count <= maximumMemberBytes else { return false }
    let parts = member.split(separator: 0x3A, maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0].elementsEqual("apns".utf8),
      APNsEnvironment.allCases.contains(where: { parts[1].elementsEqual($0.name.utf8) }),
      let topic = String(validating: parts[2], as: UTF8.self), Binding.isTopic(topic)
    else { return false }
    return isToken(UnsafeRawBufferPointer(rebasing: parts[3]))
  }
}
