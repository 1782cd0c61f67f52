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
    let local = (seconds + Int64(secondsEast(at: seconds))) % 86_400
    return Int(local < 0 ? local + 86_400 : local) / 60
  }

  /// Seconds east of Greenwich when the clock shows this date and time. Of an hour that it shows
  /// twice one of both; of one that it leaves out that before or behind it.
  /// - Parameter local: ms since 1970, if the clock showed UTC.
  package func secondsEast(showing local: Int64) -> Int {
    let seconds = local / 1000
    let guess = secondsEast(at: seconds - Int64(offset))
    return secondsEast(at: seconds - Int64(secondsEast(at: seconds - Int64(guess))))
  }

  private func secondsEast(at seconds: Int64) -> Int {
    var current = offset
    for change in changes {
      if change.at > seconds { break }
      current = change.offset
    }
    return current
  }
}
