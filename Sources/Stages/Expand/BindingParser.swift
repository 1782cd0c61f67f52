import Glibc
import Model

/// Reads members of a user's set of bindings, as bytes: platform, environment if the platform has
/// several, topic, token.
package struct BindingParser {
  package enum Result: Equatable {
    case addressed(tokenCount: Int, Destination)
    case ofAnotherTopic
    case malformed
  }

  private struct Prefix {
    let bytes: [UInt8]
    let destination: Destination
    let tokens: Platform.TokenFormat
  }

  /// Of the topic.
  private let prefixes: [Prefix]
  /// Of any.
  private let platforms: [Prefix]

  /// - Parameter topic: as it stands in a member, of APNs a push type's suffix with it.
  package init(topic: String) {
    func prefixes(_ rest: String) -> [Prefix] {
      Destination.all.map {
        Prefix(
          bytes: Array(($0.memberPrefix + rest).utf8), destination: $0,
          tokens: $0.platform.tokens)
      }
    }
    self.prefixes = prefixes(topic + ":")
    platforms = prefixes("")
  }

  package func parse(_ member: UnsafeRawBufferPointer) -> Result {
    for prefix in prefixes where Self.begins(member, with: prefix.bytes) {
      let token = UnsafeRawBufferPointer(rebasing: member[prefix.bytes.count...])
      return prefix.tokens.accepts(token)
        ? .addressed(tokenCount: token.count, prefix.destination) : .malformed
    }
    return isWellFormed(member) ? .ofAnotherTopic : .malformed
  }

  private static func begins(_ member: UnsafeRawBufferPointer, with prefix: [UInt8]) -> Bool {
    guard member.count > prefix.count, let start = member.baseAddress else { return false }
    return memcmp(start, prefix, prefix.count) == 0
  }

  private func isWellFormed(_ member: UnsafeRawBufferPointer) -> Bool {
    guard let platform = platforms.first(where: { Self.begins(member, with: $0.bytes) }) else {
      return false
    }
    let rest = member[platform.bytes.count...]
    guard let colon = rest.prefix(Binding.maximumTopicBytes + 1).firstIndex(of: 0x3A),
      let topic = String(validating: rest[..<colon], as: UTF8.self), Binding.isTopic(topic)
    else { return false }
    return platform.tokens.accepts(UnsafeRawBufferPointer(rebasing: rest[(colon + 1)...]))
  }
}
