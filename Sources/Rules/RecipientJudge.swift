import Glibc
import Model

/// Says of one recipient after another whether an event may reach them at one moment. Looks at
/// bytes and allocates nothing: it is asked for each follower.
package struct RecipientJudge {
  private let rules: RecipientRules
  private let streamer: [UInt8]
  private let now: Int64

  /// - Parameters:
  ///   - streamer: the id of the event's streamer.
  ///   - now: ms since 1970.
  package init(_ rules: RecipientRules, streamer: [UInt8], now: Int64) {
    self.rules = rules
    self.streamer = streamer
    self.now = now
  }

  /// A longer list of muted streamers counts as malformed, and what stands behind this is not
  /// looked at: some 500 ids.
  package static let maximumListBytes = 16 << 10

  /// Mutes come first: they hold at any hour.
  package func verdict(on values: RuleValues) -> RuleVerdict {
    var verdict = RuleVerdict()
    if RuleValues.isTrue(values.muted) {
      verdict.suppressedBy = .muted
      return verdict
    }
    if rules.mutesStreamers, !values.mutedStreamers.isEmpty {
      if values.mutedStreamers.count > Self.maximumListBytes { verdict.malformed += 1 }
      if lists(values.mutedStreamers) {
        verdict.suppressedBy = .muted
        return verdict
      }
    }
    if let zones = rules.timeZones, !values.quiet.isEmpty {
      if let hours = QuietHours(values.quiet) {
        let own = zones.clock(values.timeZone)
        verdict.isZoneUnknown = own == nil && !values.timeZone.isEmpty
        let minute = (own ?? zones.fallback).minuteOfDay(at: now)
        if hours.contains(minute: minute) { verdict.suppressedBy = .quiet }
      } else {
        verdict.malformed += 1
      }
    }
    return verdict
  }

  /// Whether the streamer stands in a list, one id a line: a line feed is what no id can hold.
  private func lists(_ list: UnsafeRawBufferPointer) -> Bool {
    guard let base = list.baseAddress else { return false }
    return streamer.withUnsafeBytes { streamer in
      guard let wanted = streamer.baseAddress else { return false }
      var start = 0
      while start < list.count {
        let found = memchr(base + start, 0x0A, list.count - start)
        let end = found.map { UnsafeRawPointer($0) - base } ?? list.count
        if end > Self.maximumListBytes { return false }
        if end - start == streamer.count, memcmp(base + start, wanted, streamer.count) == 0 {
          return true
        }
        start = end + 1
      }
      return false
    }
  }
}
