/// The clock of one time zone, from some moment on.
package struct ZoneClock: Sendable, Equatable {
  package struct Change: Sendable, Equatable {
    /// Seconds since 1970.
    let at: Int64
    /// Seconds east of Greenwich from then on.
    let offset: Int
  }

  /// Seconds east of Greenwich before the first change.
  let offset: Int
  /// In the order of time. The first one ahead ends the search, so that the past a clock keeps is
  /// what has gone by since it was made.
  let changes: [Change]

  package static let utc = fixed(secondsEast: 0)

  /// Clocks that are never changed.
  package static func fixed(secondsEast offset: Int) -> ZoneClock {
    ZoneClock(offset: offset, changes: [])
  }

  /// - Parameter now: ms since 1970.
  package func minuteOfDay(at now: Int64) -> Int {
    // Rounded down, also before 1970.
    let seconds = now / 1000 - (now % 1000 < 0 ? 1 : 0)
    var current = offset
    for change in changes {
      if change.at > seconds { break }
      current = change.offset
    }
    let local = (seconds + Int64(current)) % 86_400
    return Int(local < 0 ? local + 86_400 : local) / 60
  }
}
