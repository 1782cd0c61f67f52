/// A user's devices in Redis.
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
