import Model

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

  /// Of a variant; nil where the template has no locales.
  func tag(_ index: Int) -> LocaleTag? { names == ["und"] ? nil : tags[index] }

  /// The variant for a locale as a profile holds it; the default for anything that is no language
  /// tag. Unknown is what is none, or has a language that there is not, unless a template has it.
  func resolve(_ locale: UnsafeRawBufferPointer) -> (index: Int, isKnown: Bool) {
    guard let tag = LocaleTag(locale) else { return (defaultIndex, false) }
    for candidate in tag.candidates {
      if let index = indexes[candidate] { return (index, true) }
    }
    return (variants(for: tag).first ?? defaultIndex, tag.isOfKnownLanguage)
  }

  /// Every variant that a reader of `tag` understands, best first, without the default: its
  /// candidates, then any other variant of the same language, or of the one that its speakers read,
  /// that is not written in another script.
  func variants(for tag: LocaleTag) -> [Int] {
    var found: [Int] = []
    for candidate in tag.candidates {
      if let index = indexes[candidate], !found.contains(index) { found.append(index) }
    }
    let script = tag.script ?? tag.impliedScript
    let languages = [tag.language, tag.writtenLanguage]
    for (index, variant) in tags.enumerated() {
      guard let variant, languages.contains(variant.language), !found.contains(index) else {
        continue
      }
      let other = variant.script ?? variant.impliedScript
      if script == nil || other == nil || script == other { found.append(index) }
    }
    return found
  }
}
