import Text

/// Every time zone that there is, by its name. All of them are read when a worker begins, so that a
/// name in a profile is looked up and never asked of the system: one that nobody knows costs what
/// any other costs, and nothing is remembered of it.
///
/// Names are understood in whatever case, with spaces for `_`, as devices and people write them;
/// offsets such as `UTC+03:00` beside them.
package struct TimeZones: Sendable {
  /// Of a zone that is not named, or not known.
  let fallback: ZoneClock
  /// Folded names in the order of their bytes, one behind the other.
  private let names: [UInt8]
  /// Where each name begins, and where the last ends.
  private let bounds: [Int]
  private let clocks: [ZoneClock]

  /// - Parameter clocks: of what the system has; former names of these come with them.
  package init(_ clocks: [String: ZoneClock], fallback: ZoneClock = .utc) {
    var all = clocks
    for link in ZoneNames.links where all[link.name] == nil { all[link.name] = clocks[link.zone] }
    self.init(all: all, fallback: fallback)
  }

  private init(all: [String: ZoneClock], fallback: ZoneClock) {
    var (names, bounds, sorted): ([UInt8], [Int], [ZoneClock]) = ([], [0], [])
    let inOrder = all.map { (name: Self.folded($0.key), clock: $0.value) }
      .sorted { $0.name.lexicographicallyPrecedes($1.name) }
    for (name, clock) in inOrder {
      names += name
      bounds.append(names.count)
      sorted.append(clock)
    }
    self.fallback = fallback
    self.names = names
    self.bounds = bounds
    self.clocks = sorted
  }

  /// Names without their clocks, for whoever only asks which there are.
  static func ofNames(_ names: [String]) -> TimeZones {
    TimeZones(
      all: Dictionary(names.map { ($0, ZoneClock.utc) }) { first, _ in first }, fallback: .utc)
  }

  package var count: Int { clocks.count }

  /// Nil for what nobody knows.
  package func clock(_ name: UnsafeRawBufferPointer) -> ZoneClock? {
    if let index = index(of: name) { return clocks[index] }
    return ZoneOffset.seconds(name).map { ZoneClock.fixed(secondsEast: $0) }
  }

  package subscript(name: UnsafeRawBufferPointer) -> ZoneClock { clock(name) ?? fallback }

  package func clock(named name: String) -> ZoneClock? {
    var name = name
    return name.withUTF8 { clock(UnsafeRawBufferPointer($0)) }
  }

  /// Whether a profile's `tz` is understood.
  package func knows(_ name: String) -> Bool { clock(named: name) != nil }

  static func folded(_ name: String) -> [UInt8] { name.utf8.map(fold) }

  @inline(__always)
  private static func fold(_ byte: UInt8) -> UInt8 { byte == 0x20 ? 0x5F : byte.asciiLowered }

  private func index(of name: UnsafeRawBufferPointer) -> Int? {
    guard !name.isEmpty, name.count <= ZoneNames.maximumBytes else { return nil }
    return names.withUnsafeBufferPointer { names in
      var (low, high) = (0, clocks.count)
      while low < high {
        let middle = (low + high) / 2
        let order = Self.order(
          UnsafeBufferPointer(rebasing: names[bounds[middle]..<bounds[middle + 1]]), name)
        if order == 0 { return middle }
        if order < 0 { low = middle + 1 } else { high = middle }
      }
      return nil
    }
  }

  /// Of a folded name and one that is not: below 0, 0 or above.
  private static func order(
    _ folded: UnsafeBufferPointer<UInt8>, _ name: UnsafeRawBufferPointer
  ) -> Int {
    for index in 0..<min(folded.count, name.count) {
      let difference = Int(folded[index]) - Int(fold(name[index]))
      if difference != 0 { return difference }
    }
    return folded.count - name.count
  }
}
