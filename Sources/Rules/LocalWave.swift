import Model

/// Says of one reader after another whether an hour of the reader's own clock is in one wave of an
/// event (`LocalWaves`). That depends on the hour and the reader's zone alone, not on when it is
/// asked: each reader is in one wave. A class, since each user of a page is judged by it.
package final class LocalWave {
  private let zones: TimeZones
  /// As in `SendTime.local`.
  private let local: Int64
  private let wave: Int
  /// Readers without a zone, and whoever cannot be read, are in this wave.
  package let hasUnknown: Bool

  /// Nil for a segment without waves.
  package init?(_ segment: Segment, _ zones: TimeZones) {
    guard case .local(let local) = segment.event.sendAt, let wave = segment.wave else { return nil }
    self.zones = zones
    self.local = local
    self.wave = wave
    hasUnknown = Self.wave(zones.fallback, local) == wave
  }

  /// - Parameter zone: a profile's `tz`; empty where there is none.
  package func contains(_ zone: UnsafeRawBufferPointer) -> Bool {
    guard !zone.isEmpty, let clock = zones.clock(zone) else { return hasUnknown }
    return Self.wave(clock, local) == wave
  }

  private static func wave(_ clock: ZoneClock, _ local: Int64) -> Int {
    LocalWaves.wave(ofOffset: clock.secondsEast(showing: local))
  }
}
