import Model

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
