/// Something that must be in order for a process to be ready.
package struct HealthPart: Sendable, Equatable {
  package let name: String
  /// The trouble, in words; nil when there is none.
  package let trouble: String?
  /// False: the process counts as started without it.
  package let isVital: Bool

  package init(_ name: String, trouble: String?, isVital: Bool = true) {
    self.name = name
    self.trouble = trouble
    self.isVital = isVital
  }
}
