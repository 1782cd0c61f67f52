/// A field of a profile that rules look at. The raw value is its name in Redis.
package enum RuleField: String, Sendable, CaseIterable {
  case muted
  case mutedStreamers = "muted_streamers"
  case quiet
  case timeZone = "tz"
}
