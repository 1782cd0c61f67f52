import Keyspace
import Model
import Text

extension SyntheticAudience {
  /// What is wrong with what somebody asks for, by the name of its option: `app`, `dead-prefix` or
  /// `user-prefix`.
  package static func problem(
    topic: String, deadTokenPrefix: String, userPrefix: String
  ) -> (name: String, message: String)? {
    if !Binding.isTopic(topic) {
      return ("app", "is a bundle id: letters, digits, '.' and '-'")
    }
    if deadTokenPrefix.utf8.count > 32 || !deadTokenPrefix.utf8.allSatisfy(\.isASCIIHexDigit) {
      return ("dead-prefix", "is at most 32 hex digits")
    }
    if userPrefix.utf8.count > 64 || !Keyspace.isIdentifier(userPrefix + "0") {
      return ("user-prefix", "is at most 64 bytes without control characters and braces")
    }
    return nil
  }
}
