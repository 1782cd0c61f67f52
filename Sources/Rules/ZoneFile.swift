/// Reads a file of the time zone database, TZif of RFC 8536, version 2 and later, from bytes.
package enum ZoneFile {
  /// The largest has some 4 KiB.
  package static let maximumBytes = 64 << 10

  /// Nil for what is no such file.
  /// - Parameters:
  ///   - since: seconds since 1970; what was before is forgotten.
  ///   - years: how far ahead the rule for the time behind the file's last change is followed.
  package static func clock(
    _ bytes: [UInt8], since: Int64, years: Int = 20
  ) -> ZoneClock? {
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
        else {
          return nil
        }
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
