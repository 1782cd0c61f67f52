/// Which rules an operator has switched on, beside `muted`, which always counts. Values, shared by
/// all lanes.
package struct RecipientRules: Sendable {
  /// Whether streamers in a profile's `muted_streamers` are muted.
  package var mutesStreamers: Bool
  /// Where a profile's `quiet` hours count; nil: no hour is quiet.
  package var timeZones: TimeZones?
  /// By which the readers of an event for a local hour are told apart.
  package var localZones: TimeZones

  /// Whether only the device bound last gets a push.
  package var picksNewestDevice: Bool

  /// Events that may reach one user within an hour; nil: any number of them.
  package var eventsPerHour: Int?

  package init(
    mutesStreamers: Bool = false, timeZones: TimeZones? = nil,
    localZones: TimeZones = TimeZones([:]), picksNewestDevice: Bool = false,
    eventsPerHour: Int? = nil
  ) {
    self.mutesStreamers = mutesStreamers
    self.timeZones = timeZones
    self.localZones = localZones
    self.picksNewestDevice = picksNewestDevice
    self.eventsPerHour = eventsPerHour
  }

  /// The fields of a profile that the rules look at: what nobody asked for is not read.
  package var fields: [RuleField] { fields(isLocal: false) }

  /// - Parameter isLocal: of an event for a local hour, which needs the zone as well.
  package func fields(isLocal: Bool) -> [RuleField] {
    [.muted] + (mutesStreamers ? [.mutedStreamers] : []) + (timeZones == nil ? [] : [.quiet])
      + (timeZones == nil && !isLocal ? [] : [.timeZone])
  }
}
