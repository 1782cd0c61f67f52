/// The read that a command was for, in words of messages.
package struct RedisRead: Sendable, CustomStringConvertible {
  package let command: String
  package let key: String
  /// What is kept there by contract, such as `set`.
  package let wanted: String

  package init(_ command: String, _ key: String, wanted: String = "key of ours") {
    self.command = command
    self.key = key
    self.wanted = wanted
  }

  package var description: String { "\(command) \(key)" }
}
