import Model

/// What Redis holds of one user under the user's own keys.
package struct UserRecord: Sendable, Equatable {
  package let user: String
  package let devices: UserDevices
  package let profile: UserProfile
  /// Events that the user was let have within the last hour; only with `rules.events_per_hour`.
  package let reached: Int

  /// Whether there is anything. Who only follows has nothing here.
  package var isKnown: Bool { !devices.isEmpty || !profile.members.isEmpty || reached > 0 }
}
