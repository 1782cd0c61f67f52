import Text

/// Reads a file of the time zone database, TZif of RFC 8536, version 2 and later, from bytes.
package enum ZoneFile {
  /// The largest has some 4 KiB.
  package static let maximumBytes = 64 << 10

  /// Nil for what is no such file.
  /// - Parameters:
  ///   - since: seconds since 1970; what was before is forgotten.
  ///   - years: how far ahead the rule for the time behind the file's last change is followed.
  package static func clock(_ bytes: [UInt8], since: Int64, years: Int = 20) -> ZoneClock? {
    guard bytes.count <= maximumBytes else { return nil }
    var reader = ZoneBytes(bytes)
    // The first block has 32 bits for a time; the second says all of it again with 64.
    guard let first = Header(&reader), first.version >= 0x32,
      reader.skip(first.blockBytes(timeBytes: 4)), let header = Header(&reader),
      let (initial, changes) = block(header, &reader), let rule = footer(&reader)
    else { return nil }
    var offset = initial
    var ahead: [ZoneClock.Change] = []
    let last = changes.last?.at ?? .min
    let later = rule?.changes(from: max(since, last), years: years).filter { $0.at > last } ?? []
    for change in changes + later {
      if change.at <= since { offset = change.offset } else { ahead.append(change) }
    }
    return ZoneClock(offset: offset, changes: ahead)
  }

  private struct Header {
    let version: UInt8
    /// isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt
    let counts: [Int]

    init?(_ reader: inout ZoneBytes) {
      guard reader.take("TZif"), let version = reader.byte(), reader.skip(15) else { return nil }
      self.version = version
      var counts: [Int] = []
      for _ in 0..<6 {
        guard let count = reader.number(4), (0...Int64(ZoneFile.maximumBytes)).contains(count)
        else { return nil }
        counts.append(Int(count))
      }
      self.counts = counts
    }

    var times: Int { counts[3] }
    var types: Int { counts[4] }
    /// Behind times and types: names, leap seconds, and two kinds of flags.
    func restBytes(timeBytes: Int) -> Int {
      counts[5] + counts[2] * (timeBytes + 4) + counts[1] + counts[0]
    }
    func blockBytes(timeBytes: Int) -> Int {
      times * (timeBytes + 1) + types * 6 + restBytes(timeBytes: timeBytes)
    }
  }

  /// The offset before all changes, and the changes.
  private static func block(
    _ header: Header, _ reader: inout ZoneBytes
  ) -> (offset: Int, changes: [ZoneClock.Change])? {
    var times: [Int64] = []
    for _ in 0..<header.times {
      guard let time = reader.number(8), time > times.last ?? .min else { return nil }
      times.append(time)
    }
    var kinds: [Int] = []
    for _ in 0..<header.times {
      guard let kind = reader.byte(), Int(kind) < header.types else { return nil }
      kinds.append(Int(kind))
    }
    var offsets: [Int] = []
    for _ in 0..<header.types {
      guard let offset = reader.number(4), reader.skip(2) else { return nil }
      offsets.append(Int(offset))
    }
    guard let first = offsets.first, reader.skip(header.restBytes(timeBytes: 8)) else { return nil }
    let changes = zip(times, kinds).map { ZoneClock.Change(at: $0, offset: offsets[$1]) }
    return (first, changes)
  }

  /// The rule at the end, between line feeds; `.some(nil)` where the file has none.
  private static func footer(_ reader: inout ZoneBytes) -> ZoneRule?? {
    guard reader.take("\n"), let line = reader.line() else { return nil }
    if line.isEmpty { return .some(nil) }
    return ZoneRule(line).map { .some($0) }
  }
}

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
        ZoneClock.Change(at: summer.end.local(year: year) - Int64(summer.offset), offset: standard),
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

/// Bytes of a time zone file, taken from the front: what is not there is nil and never a trap.
struct ZoneBytes {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isEmpty: Bool { rest.isEmpty }
  var first: UInt8? { rest.first }

  mutating func byte() -> UInt8? { rest.popFirst() }

  /// False when there are fewer.
  mutating func skip(_ count: Int) -> Bool {
    guard count >= 0, count <= rest.count else { return false }
    rest = rest.dropFirst(count)
    return true
  }

  mutating func take(_ text: String) -> Bool {
    guard rest.starts(with: text.utf8) else { return false }
    rest = rest.dropFirst(text.utf8.count)
    return true
  }

  /// Big endian, two's complement.
  mutating func number(_ bytes: Int) -> Int64? {
    guard rest.count >= bytes else { return nil }
    let bits = rest.prefix(bytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    rest = rest.dropFirst(bytes)
    let unused = 64 - 8 * bytes
    return Int64(bitPattern: bits << UInt64(unused)) >> Int64(unused)
  }

  /// Digits; nil when there are none, or more than four.
  mutating func decimal() -> Int? {
    let digits = rest.prefix { $0.isASCIIDigit }
    guard (1...4).contains(digits.count) else { return nil }
    rest = rest.dropFirst(digits.count)
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  mutating func run(while belongs: (UInt8) -> Bool) -> [UInt8] {
    let run = Array(rest.prefix(while: belongs))
    rest = rest.dropFirst(run.count)
    return run
  }

  /// Up to a line feed, which is taken too.
  mutating func line() -> [UInt8]? {
    guard let end = rest.firstIndex(of: 0x0A) else { return nil }
    defer { rest = rest[(end + 1)...] }
    return Array(rest[..<end])
  }
}
