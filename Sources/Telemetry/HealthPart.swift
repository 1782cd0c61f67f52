/// Something that must be in order for a process to be ready.
package struct HealthPart: Sendable, Equatable {
  package let name: String
  /// What is wrong, in words; nil when nothing is.
  package let trouble: String?

  package init(_ name: String, trouble: String?) {
    self.name = name
    self.trouble = trouble
  }
}
