import Model

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

/// The data of one user in Redis, under the user's own keys.
package struct UserRecord: Sendable, Equatable {
  package let user: String
  package let devices: UserDevices
  package let profile: UserProfile
  /// Events that the user was let have within the last hour; only with `rules.events_per_hour`.
  package let reached: Int

  /// Whether there is any data. A user who only follows has none here.
  package var isKnown: Bool { !devices.isEmpty || !profile.members.isEmpty || reached > 0 }
}
