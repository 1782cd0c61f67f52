import Glibc
import Model
import Text

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

/// The rules' decision about one recipient.
package struct RuleVerdict: Sendable, Equatable {
  /// Nil: the push may be sent.
  package var suppressedBy: SuppressionRule?
  /// Values that are not what they should be, and count as not set.
  package var malformed = 0
  /// Whether quiet hours were looked at by the fallback's clock because nobody knows the zone.
  package var isZoneUnknown = false

  package init() {}
}

/// The values of one recipient's profile that rules read, as bytes that somebody else holds; empty
/// where nothing is set.
package struct RuleValues {
  package var muted = UnsafeRawBufferPointer(start: nil, count: 0)
  package var mutedStreamers = UnsafeRawBufferPointer(start: nil, count: 0)
  package var quiet = UnsafeRawBufferPointer(start: nil, count: 0)
  package var timeZone = UnsafeRawBufferPointer(start: nil, count: 0)

  package init() {}

  package subscript(field: RuleField) -> UnsafeRawBufferPointer {
    get {
      switch field {
      case .muted: muted
      case .mutedStreamers: mutedStreamers
      case .quiet: quiet
      case .timeZone: timeZone
      }
    }
    set {
      switch field {
      case .muted: muted = newValue
      case .mutedStreamers: mutedStreamers = newValue
      case .quiet: quiet = newValue
      case .timeZone: timeZone = newValue
      }
    }
  }

  /// How a profile says yes: `1` or `true`.
  @inlinable
  package static func isTrue(_ value: UnsafeRawBufferPointer) -> Bool {
    value.count == 1 ? value[0] == 0x31 : value.count == 4 && value.elementsEqual("true".utf8)
  }
}

/// A part of every day by somebody's own clock, such as `22:00-07:00`: from the first minute up to
/// the last and without it. It may pass midnight; one that ends where it begins is never.
///
/// The clock on the wall decides, also in the nights when it is changed: an hour that it passes
/// twice is quiet twice, one that it leaves out is not there.
package struct QuietHours: Sendable, Equatable {
  /// Minutes since midnight.
  let start: Int
  let end: Int

  private static let bytes = 11

  /// Nil for anything but `HH:MM-HH:MM`, 00:00 to 23:59.
  package init?(_ text: UnsafeRawBufferPointer) {
    guard text.count == Self.bytes, text[5] == 0x2D, let start = Self.minute(text, at: 0),
      let end = Self.minute(text, at: 6)
    else { return nil }
    self.start = start
    self.end = end
  }

  package func contains(minute: Int) -> Bool {
    start <= end ? minute >= start && minute < end : minute >= start || minute < end
  }

  private static func minute(_ text: UnsafeRawBufferPointer, at index: Int) -> Int? {
    guard text[index + 2] == 0x3A, let hour = number(text, at: index), hour < 24,
      let minute = number(text, at: index + 3), minute < 60
    else { return nil }
    return hour * 60 + minute
  }

  private static func number(_ text: UnsafeRawBufferPointer, at index: Int) -> Int? {
    let (tens, ones) = (text[index], text[index + 1])
    guard tens.isASCIIDigit, ones.isASCIIDigit else { return nil }
    return Int(tens - 0x30) * 10 + Int(ones - 0x30)
  }
}

/// A field of a profile that rules look at. The raw value is its name in Redis.
package enum RuleField: String, Sendable, CaseIterable {
  case muted
  case mutedStreamers = "muted_streamers"
  case quiet
  case timeZone = "tz"
}
