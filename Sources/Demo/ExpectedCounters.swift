/// The counters that a fan-out must have by its audience.
package struct ExpectedCounters: Sendable, Equatable {
  package var followers: Int
  package var devices: Int
  package var mutedDevices: Int
  /// Dead bindings that are gone from Redis.
  package var deadBindingsGone: Int

  package init(followers: Int, devices: Int, mutedDevices: Int, deadBindingsGone: Int) {
    self.followers = followers
    self.devices = devices
    self.mutedDevices = mutedDevices
    self.deadBindingsGone = deadBindingsGone
  }
}
