import Model

/// A device of a user.
package struct BoundDevice: Sendable, Equatable {
  package let binding: Binding
  /// Ms since 1970; nil where that is not written: then any later word of Apple's takes it out.
  package let boundAt: Int64?

  package init(binding: Binding, boundAt: Int64?) {
    self.binding = binding
    self.boundAt = boundAt
  }
}
