/// The variants of one template and which of them a recipient's locale gets.
struct LocaleTable: Sendable {
  /// As the template spells them; the index is the variant's.
  let names: [String]
  let defaultIndex: Int
  private let tags: [LocaleTag?]
  private let indexes: [String: Int]

  /// `aliases`: further tags, each with the index of the variant that it stands for.
  init(names: [String], defaultIndex: Int, aliases: [(tag: LocaleTag, index: Int)] = []) {
    self.names = names
    self.defaultIndex = defaultIndex
    tags = names.map { LocaleTag($0) }
    var indexes: [String: Int] = [:]
    for (index, tag) in tags.enumerated() {
      if let tag { indexes[tag.text] = index }
    }
    for alias in aliases { indexes[alias.tag.text] = alias.index }
    self.indexes = indexes
  }

  /// The variant for a locale as a profile holds it; the default for anything that is no language
  /// tag.
  func resolve(_ locale: UnsafeRawBufferPointer) -> Int {
    guard let tag = LocaleTag(locale) else { return defaultIndex }
    for candidate in tag.candidates {
      if let index = indexes[candidate] { return index }
    }
    return variants(for: tag).first ?? defaultIndex
  }

  /// Every variant that a reader of `tag` understands, best first, without the default: its
  /// candidates, then any other variant of the same language that is not written in another script.
  func variants(for tag: LocaleTag) -> [Int] {
    var found: [Int] = []
    for candidate in tag.candidates {
      if let index = indexes[candidate], !found.contains(index) { found.append(index) }
    }
    let script = tag.script ?? tag.impliedScript
    for (index, variant) in tags.enumerated() {
      guard let variant, variant.language == tag.language, !found.contains(index) else { continue }
      let other = variant.script ?? variant.impliedScript
      if script == nil || other == nil || script == other { found.append(index) }
    }
    return found
  }
}

/// Remembers which variant the locales seen lately got: a handful of texts stand in millions of
/// profiles. A fixed number of places, so that hostile locales cost time and never memory. Plain
/// memory: an array in a class is checked at run time on each access. Confined to one lane.
final class LocaleCache {
  private struct Entry {
    var low: UInt64 = 0
    var high: UInt64 = 0
    /// 0: nothing here yet.
    var count: Int32 = 0
    var index: Int32 = 0
  }

  /// Longer locales are rare and looked up each time; overlong ones are no tags at all.
  static let maximumBytes = 16
  private static let places = 64
  private let entries = UnsafeMutablePointer<Entry>.allocate(capacity: places)

  init() { entries.initialize(repeating: Entry(), count: Self.places) }

  deinit { entries.deallocate() }

  func index(of locale: UnsafeRawBufferPointer, in table: LocaleTable) -> Int {
    let count = locale.count
    if count == 0 { return table.defaultIndex }
    guard count <= Self.maximumBytes else { return table.resolve(locale) }
    let (low, high) = Self.words(locale)
    let mixed = (low ^ (high &* 0x9E37_79B9_7F4A_7C15)) &* 0xD6E8_FEB8_6659_FD93
    let place = Int(truncatingIfNeeded: mixed >> 58)
    let entry = entries[place]
    if entry.low == low && entry.high == high && entry.count == Int32(count) {
      return Int(entry.index)
    }
    let index = table.resolve(locale)
    entries[place] = Entry(low: low, high: high, count: Int32(count), index: Int32(index))
    return index
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
