import Keyspace
import Model

/// A value that somebody gave and that is not taken: which, and what it must be. Never with the
/// value in it: it may be a token, and what is refused is told, and may be logged.
package struct GivenRefusal: Error, Equatable {
  package let name: String
  package let rule: String
  /// Behind the rule, for whoever gave the value and for no log: what was meant, perhaps.
  package let hint: String

  package init(name: String, rule: String, hint: String = "") {
    self.name = name
    self.rule = rule
    self.hint = hint
  }
}
