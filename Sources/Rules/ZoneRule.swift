import Text

/// When the clocks are changed every year: the text at the end of a time zone file, such as
/// `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX' `TZ`, with the hours of RFC 8536, section 3.3.1).
struct ZoneRule: Equatable {
  /// Seconds east of Greenwich.
  let standard: Int
  let summer: Summer?

  struct Summer: Equatable {
    let offset: Int
    let start: Day
    let end: Day
  }

  /// A day of every year, and seconds from its midnight: there may be more than a day of them, and
  /// fewer than none.
  struct Day: Equatable {
    enum Date: Equatable {
      /// 1…365, never 29 February.
      case julian(Int)
      /// 0…365
      case sinceNewYear(Int)
      /// Week 5 is the last one; Sunday is 0.
      case weekday(month: Int, week: Int, weekday: Int)
    }
    let date: Date
    let seconds: Int

    /// Seconds since 1970 by the clock of the place.
    func local(year: Int64) -> Int64 { day(year) * 86_400 + Int64(seconds) }

    private func day(_ year: Int64) -> Int64 {
      func day(_ month: Int, _ day: Int) -> Int64 {
        Timestamp.daysSince1970(year: year, month: Int64(month), day: Int64(day))
      }
      switch date {
      case .julian(let number):
        let isAfterLeapDay = number >= 60 && day(3, 1) - day(1, 1) == 60
        return day(1, 1) + Int64(number - 1) + (isAfterLeapDay ? 1 : 0)
      case .sinceNewYear(let number): return day(1, 1) + Int64(number)
      case .weekday(let month, let week, let weekday):
        let first = day(month, 1)
        let next = month == 12 ? day(12, 31) + 1 : day(month + 1, 1)
        // 1970 began on a Thursday.
        let firstWeekday = ((first + 4) % 7 + 7) % 7
        var found = first + (Int64(weekday) - firstWeekday + 7) % 7 + Int64(week - 1) * 7
        while found >= next { found -= 7 }
        return found
      }
    }
  }

  /// Nil for what is no such text.
  init?(_ text: [UInt8]) {
    var rest = ZoneBytes(text)
    guard Self.skipName(&rest), let west = Self.time(&rest) else { return nil }
    standard = -west
    guard !rest.isEmpty else {
      summer = nil
      return
    }
    guard Self.skipName(&rest) else { return nil }
    var offset = standard + 3600
    if rest.first != 0x2C {
      guard let west = Self.time(&rest) else { return nil }
      offset = -west
    }
    guard let start = Self.day(&rest), let end = Self.day(&rest), rest.isEmpty else { return nil }
    summer = Summer(offset: offset, start: start, end: end)
  }

  /// Those of some years, in order, from the year before a moment on.
  func changes(from since: Int64, years: Int) -> [ZoneClock.Change] {
    guard let summer else { return [] }
    let first = Int64(CivilTime(milliseconds: Self.milliseconds(since)).year) - 1
    return (first...first + Int64(years)).flatMap { year in
      [
        ZoneClock.Change(
          at: summer.start.local(year: year) - Int64(standard), offset: summer.offset),
        ZoneClock.Change(
          at: summer.end.local(year: year) - Int64(summer.offset), offset: standard),
      ]
    }.sorted { $0.at < $1.at }
  }

  /// A file may speak of the Big Bang.
  private static func milliseconds(_ seconds: Int64) -> Int64 {
    min(max(seconds, 0), Timestamp.range.upperBound / 1000) * 1000
  }

  /// `CET`, or in angle brackets whatever has digits: `<+0545>`.
  private static func skipName(_ rest: inout ZoneBytes) -> Bool {
    if rest.take("<") {
      return !rest.run { $0 != 0x3E }.isEmpty && rest.take(">")
    }
    return rest.run { $0.isASCIILetter }.count >= 3
  }

  /// `-5:45`, `3`, `167`: hours, minutes and seconds, as seconds.
  private static func time(_ rest: inout ZoneBytes) -> Int? {
    let isNegative = rest.take("-")
    if !isNegative { _ = rest.take("+") }
    guard let hours = rest.decimal(), hours <= 167 else { return nil }
    var seconds = hours * 3600
    for unit in [60, 1] {
      guard rest.take(":") else { break }
      guard let number = rest.decimal(), number < 60 else { return nil }
      seconds += number * unit
    }
    return isNegative ? -seconds : seconds
  }

  private static func day(_ rest: inout ZoneBytes) -> Day? {
    guard rest.take(","), let date = date(&rest) else { return nil }
    guard rest.take("/") else { return Day(date: date, seconds: 7200) }
    return time(&rest).map { Day(date: date, seconds: $0) }
  }

  private static func date(_ rest: inout ZoneBytes) -> Day.Date? {
    if rest.take("J") {
      guard let number = rest.decimal(), (1...365).contains(number) else { return nil }
      return .julian(number)
    }
    if rest.take("M") {
      guard let month = rest.decimal(), (1...12).contains(month), rest.take("."),
        let week = rest.decimal(), (1...5).contains(week), rest.take("."),
        let weekday = rest.decimal(), weekday < 7
      else { return nil }
      return .weekday(month: month, week: week, weekday: weekday)
    }
    guard let number = rest.decimal(), number <= 365 else { return nil }
    return .sinceNewYear(number)
  }
}
