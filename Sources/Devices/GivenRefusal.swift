import Keyspace
import Model

/// A value that somebody gave and that is not taken: which, and what it must be. Never with the
/// value in it: it may be a token, and what is refused is told, and may be logged.
package struct GivenRefusal: Error, Equatable {
  package let name: String
  package let rule: String
  private let makeHint: @Sendable () -> String
  /// Behind the rule, for whoever gave the value: what was meant, perhaps. A token's holds the
  /// token, and is neither kept nor logged. Each call may compare the value with some 600 names.
  package var hint: String { makeHint() }

  package init(
    name: String, rule: String, hint: @autoclosure @escaping @Sendable () -> String = ""
  ) {
    self.name = name
    self.rule = rule
    makeHint = hint
  }

  package static func == (left: GivenRefusal, right: GivenRefusal) -> Bool {
    left.name == right.name && left.rule == right.rule && left.hint == right.hint
  }
}
