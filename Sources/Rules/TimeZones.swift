import Glibc

/// Every time zone that there is, by its name. All of them are read when a worker begins, so that a
/// name in a profile is looked up and never asked of the system: one that nobody knows costs what
/// any other costs, and nothing is remembered of it.
package struct TimeZones: Sendable {
  /// Of a zone that is not named, or not known.
  private let fallback: ZoneClock
  /// Names in the order of their bytes, one behind the other.
  private let names: [UInt8]
  /// Where each name begins, and where the last ends.
  private let bounds: [Int]
  private let clocks: [ZoneClock]

  package init(_ clocks: [String: ZoneClock], fallback: ZoneClock = .utc) {
    var (names, bounds, sorted): ([UInt8], [Int], [ZoneClock]) = ([], [0], [])
    let inOrder = clocks.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    for (name, clock) in inOrder {
      names += name.utf8
      bounds.append(names.count)
      sorted.append(clock)
    }
    self.fallback = fallback
    self.names = names
    self.bounds = bounds
    self.clocks = sorted
  }

  package var count: Int { clocks.count }

  package subscript(name: UnsafeRawBufferPointer) -> ZoneClock {
    index(of: name).map { clocks[$0] } ?? fallback
  }

  /// Whether a profile's `tz` is one of them.
  package func knows(_ name: String) -> Bool {
    var name = name
    return name.withUTF8 { index(of: UnsafeRawBufferPointer($0)) } != nil
  }

  private func index(of name: UnsafeRawBufferPointer) -> Int? {
    guard let wanted = name.baseAddress, !name.isEmpty else { return nil }
    return names.withUnsafeBytes { names in
      guard let base = names.baseAddress else { return nil }
      var (low, high) = (0, clocks.count)
      while low < high {
        let middle = (low + high) / 2
        let (start, end) = (bounds[middle], bounds[middle + 1])
        let order = memcmp(base + start, wanted, min(end - start, name.count))
        let difference = order == 0 ? end - start - name.count : Int(order)
        if difference == 0 { return middle }
        if difference < 0 { low = middle + 1 } else { high = middle }
      }
      return nil
    }
  }
}
