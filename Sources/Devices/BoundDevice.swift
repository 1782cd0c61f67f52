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

extension Binding {
  /// - Parameter member: `apns:<environment>:<topic>:<token>`, as `member` writes it.
  init?(member: String) {
    let parts = member.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] == "apns",
      let environment = APNsEnvironment.allCases.first(where: { $0.name == parts[1] })
    else { return nil }
    self.init(environment: environment, topic: String(parts[2]), token: String(parts[3]))
    guard self.member.isExactly(member) else { return nil }
  }
}
