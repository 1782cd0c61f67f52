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

/// What Redis holds of a user's devices.
package struct UserDevices: Sendable, Equatable {
  /// The one bound last first.
  package var bound: [BoundDevice] = []
  /// Those that get nothing, because Apple refused their tokens.
  package var setAside: [QuarantinedDevice] = []
  /// Members that are no device of ours.
  package var unreadable = 0

  package init() {}

  package var isEmpty: Bool { bound.isEmpty && setAside.isEmpty && unreadable == 0 }
}
