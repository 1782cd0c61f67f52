/// A line of an import that was not written, or not all of it.
package struct RefusedLine: Sendable, Equatable {
  package let line: Int
  package let reason: String

  init(_ line: Int, _ reason: String) {
    self.line = line
    self.reason = reason
  }
}
