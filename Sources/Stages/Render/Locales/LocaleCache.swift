/// Remembers which variant the locales seen lately got: some dozens of texts stand in millions of
/// profiles. A hash table of fixed size with linear probing, so that hostile locales cost time and
/// never memory. Plain memory: an array in a class is checked at run time on each access. Confined
/// to one lane.
final class LocaleCache {
  private struct Entry {
    var low: UInt64 = 0
    var high: UInt64 = 0
    /// 0: nothing here yet.
    var count: Int32 = 0
    /// Of the variant; its complement where nobody knows the locale (`variant(of:)`).
    var index: Int32 = 0
  }

  /// Longer locales are rare and looked up each time; overlong ones are no tags at all.
  static let maximumBytes = 16
  /// A power of two, several times as many as there are locales in use.
  private static let slots = 256
  /// A locale stands in one of so many slots behind that of its hash.
  private static let probes = 8
  private let entries = UnsafeMutablePointer<Entry>.allocate(capacity: slots)
  /// Locales asked for that nobody knows.
  private var unknown = 0

  init() {
    entries.initialize(repeating: Entry(), count: Self.slots)
  }

  deinit { entries.deallocate() }

  func takeUnknown() -> Int {
    defer { unknown = 0 }
    return unknown
  }

  func index(of locale: UnsafeRawBufferPointer, in table: LocaleTable) -> Int {
    let count = locale.count
    if count == 0 { return table.defaultIndex }
    guard count <= Self.maximumBytes else { return counted(table.resolve(locale)) }
    let (low, high) = Self.words(locale)
    let mixed = (low ^ (high &* 0x9E37_79B9_7F4A_7C15)) &* 0xD6E8_FEB8_6659_FD93
    var slot = Int(truncatingIfNeeded: mixed >> 32)
    for offset in 0..<Self.probes {
      let entry = entries[(slot + offset) & (Self.slots - 1)]
      if entry.low == low && entry.high == high && entry.count == Int32(count) {
        return variant(of: entry.index)
      }
      if entry.count == 0 {
        slot += offset
        break
      }
    }
    // Where all of them are taken the first is overwritten.
    let found = table.resolve(locale)
    let index = Int32(truncatingIfNeeded: found.isKnown ? found.index : ~found.index)
    entries[slot & (Self.slots - 1)] = Entry(
      low: low, high: high, count: Int32(count), index: index)
    return counted(found)
  }

  @inline(__always)
  private func variant(of index: Int32) -> Int {
    if index >= 0 { return Int(index) }
    unknown += 1
    return Int(~index)
  }

  private func counted(_ found: (index: Int, isKnown: Bool)) -> Int {
    if !found.isKnown { unknown += 1 }
    return found.index
  }

  /// All 1…16 bytes in two words that overlap; with the count they are unambiguous.
  private static func words(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
    let count = bytes.count
    if count >= 8 {
      return (
        bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
        bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
      )
    }
    var word: UInt64 = 0
    for byte in bytes { word = word << 8 | UInt64(byte) }
    return (word, 0)
  }
}
