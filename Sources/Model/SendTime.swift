import Text

/// When an event is to be sent that is not to be sent at once.
package enum SendTime: Sendable, Equatable {
  /// Ms since 1970.
  case at(Int64)
  /// By the clock of each reader: ms since 1970, if that clock showed UTC.
  case local(Int64)

  /// - Parameter text: RFC 3339, such as `2026-12-01T18:00:00Z`.
  package init?(moment text: String) {
    guard let milliseconds = Timestamp.milliseconds(text) else { return nil }
    self = .at(milliseconds)
  }

  /// - Parameter text: such as `2026-12-01T18:00`: a minute, and no offset from UTC.
  package init?(local text: String) {
    guard text.utf8.count == Self.localBytes,
      let milliseconds = Timestamp.milliseconds(text + ":00Z")
    else { return nil }
    self = .local(milliseconds)
  }

  private static let localBytes = 16

  /// As events have it: RFC 3339 in UTC, or a reader's date and hour without an offset.
  package var text: String {
    switch self {
    case .at(let milliseconds):
      let time = CivilTime(milliseconds: milliseconds)
      let fraction =
        time.millisecond == 0 ? "" : ".\(String(1000 + time.millisecond).dropFirst())"
      return "\(time.dateText)T\(Self.minute(time)):\(CivilTime.twoDigits(time.second))\(fraction)Z"
    case .local(let milliseconds):
      let time = CivilTime(milliseconds: milliseconds)
      return "\(time.dateText)T\(Self.minute(time))"
    }
  }

  private static func minute(_ time: CivilTime) -> String {
    "\(CivilTime.twoDigits(time.hour)):\(CivilTime.twoDigits(time.minute))"
  }

  /// When its waves are due, the first and the last, in ms since 1970.
  package var due: ClosedRange<Int64> {
    switch self {
    case .at(let moment): moment...moment
    case .local(let local):
      LocalWaves.due(0, local: local)...LocalWaves.due(LocalWaves.count - 1, local: local)
    }
  }
}

/// The waves of an event that is sent at an hour of each reader's own clock: one for each offset
/// from UTC that clocks on Earth have, from east to west. Each wave reads all followers, and sends
/// to those whose clock shows the hour: 40 times the reading, and each push once.
///
/// The list is fixed, so that workers with different time zone databases agree on it.
package enum LocalWaves {
  /// Minutes east of UTC: the first offset is the first to see a date. Of time zones as they are in
  /// 2026, summer times among them.
  static let offsets: [Int64] = [
    840, 825, 780, 765, 720, 660, 630, 600, 570, 540, 525, 480, 420, 390, 360, 345, 330, 300, 270,
    240, 210, 180, 120, 60, 0, -60, -120, -150, -180, -210, -240, -300, -360, -420, -480, -540,
    -570, -600, -660, -720,
  ]

  package static var count: Int { offsets.count }

  /// When a wave is due, in ms since 1970.
  /// - Parameter local: as in `SendTime.local`.
  package static func due(_ wave: Int, local: Int64) -> Int64 {
    local - offsets[min(max(wave, 0), count - 1)] * 60_000
  }

  /// The wave of a clock: the first that is not before the hour by that clock. A clock with an
  /// offset of its own, such as UTC+03:15, is in the next wave, at most an hour later.
  /// - Parameter seconds: east of UTC at the hour.
  package static func wave(ofOffset seconds: Int) -> Int {
    offsets.firstIndex { $0 * 60 <= Int64(seconds) } ?? count - 1
  }
}
