import Model

/// Reads a template's locales, their texts and aliases.
struct LocalesReader {
  let findings: TemplateFindings

  func read(_ members: [String: TemplateSource.Entry]) -> TemplateLocales {
    var locales: [TemplateLocales.Locale] = []
    var names: [String] = []
    for entry in localeEntries(members["locales"]) {
      guard let tag = LocaleTag(entry.key) else {
        findings.report(
          entry.place,
          "'\(entry.key)' is no language tag (BCP 47): write it like en, pt-BR or zh-Hant-TW")
        continue
      }
      if !tag.isOfKnownLanguage {
        findings.warn(
          entry.place, "there is no language '\(tag.language)'\(LocaleTag.hint(entry.key))")
      }
      if let twin = locales.first(where: { $0.tag == tag }) {
        findings.report(
          entry.place,
          "'\(entry.key)' is the locale of line \(twin.place.line) again: merge the two")
        continue
      }
      locales.append(TemplateLocales.Locale(tag: tag, place: entry.place, texts: texts(of: entry)))
      names.append(entry.key)
    }
    let defaultIndex = defaultLocale(members, locales)
    if locales.isEmpty {
      return TemplateLocales(locales: [], table: LocaleTable(names: ["und"], defaultIndex: 0))
    }
    let aliases = aliases(members["aliases"], locales)
    return TemplateLocales(
      locales: locales,
      table: LocaleTable(names: names, defaultIndex: defaultIndex, aliases: aliases))
  }

  private func localeEntries(_ entry: TemplateSource.Entry?) -> [TemplateSource.Entry] {
    guard let entry else { return [] }
    guard case .map(let entries) = entry.value.value, !entries.isEmpty else {
      findings.report(
        entry.value.place, "locales must be a map from language tags to texts, or be left out")
      return []
    }
    return entries
  }

  private func texts(of locale: TemplateSource.Entry) -> [String: TemplateLocales.Text] {
    guard case .map(let entries) = locale.value.value else {
      findings.report(
        locale.value.place, "the locale \(locale.key) must be a map from names to texts")
      return [:]
    }
    var texts: [String: TemplateLocales.Text] = [:]
    for (key, entry) in findings.unique(entries) {
      guard let text = findings.string(entry.value, "the text '\(key)' of locale \(locale.key)")
      else { continue }
      let parsed = findings.parse(text, at: entry.value.place)
      for case .placeholder(let placeholder) in parsed.parts where placeholder.namespace == .text {
        findings.report(
          entry.value.place,
          "a text cannot contain '{{\(placeholder.path)}}': texts do not nest, write its words here"
        )
      }
      texts[key] = TemplateLocales.Text(text: parsed, place: entry.place)
    }
    return texts
  }

  private func defaultLocale(
    _ members: [String: TemplateSource.Entry], _ locales: [TemplateLocales.Locale]
  ) -> Int {
    let known = locales.map(\.tag.text)
    guard let entry = members["default_locale"] else {
      if locales.count > 1, let place = members["locales"]?.place {
        findings.report(
          place,
          "name the default_locale, one of \(TemplateFindings.list(known)): others get its texts")
      }
      return 0
    }
    guard let text = findings.string(entry.value, "default_locale") else { return 0 }
    if let index = locales.firstIndex(where: { $0.tag == LocaleTag(text) }) { return index }
    findings.report(
      entry.value.place,
      "the default_locale '\(text)' is not among the locales"
        + (known.isEmpty
          ? ": add it" : " \(TemplateFindings.list(known)): add it or name one of them"))
    return 0
  }

  private func aliases(
    _ entry: TemplateSource.Entry?, _ locales: [TemplateLocales.Locale]
  ) -> [(tag: LocaleTag, index: Int)] {
    guard let entry else { return [] }
    guard case .map(let entries) = entry.value.value else {
      findings.report(
        entry.value.place, "aliases must be a map from language tags to locales, like 'gsw: de'")
      return []
    }
    var aliases: [(tag: LocaleTag, index: Int)] = []
    for (key, alias) in findings.unique(entries).sorted(by: { $0.value.place < $1.value.place }) {
      guard let target = findings.string(alias.value, "the alias '\(key)'") else { continue }
      guard let tag = LocaleTag(key), !locales.contains(where: { $0.tag == tag }) else {
        findings.report(
          alias.place, "the alias '\(key)' must be a language tag that is not itself a locale")
        continue
      }
      guard let index = locales.firstIndex(where: { $0.tag == LocaleTag(target) }) else {
        findings.report(
          alias.value.place,
          "the alias '\(key)' stands for '\(target)', which is not among the locales: name one of "
            + TemplateFindings.list(locales.map(\.tag.text)))
        continue
      }
      aliases.append((tag, index))
    }
    return aliases
  }

  /// A misspelt key would silently show the default locale's text.
  func checkUnusedTexts(of locales: TemplateLocales, usedKeys: Set<String>) {
    for (index, locale) in locales.locales.enumerated() {
      for (key, text) in locale.texts where !usedKeys.contains(key) {
        findings.report(
          text.place,
          "the text '\(key)' of locale \(locales.table.names[index]) is used nowhere: "
            + "correct its name or write '{{text.\(key)}}' in the payload")
      }
    }
  }
}

/// The texts of a template by locale, and which locale stands in for which.
struct TemplateLocales {
  struct Text {
    let text: TemplateText
    let place: TemplateSource.Place
  }

  struct Locale {
    let tag: LocaleTag
    let place: TemplateSource.Place
    let texts: [String: Text]
  }

  let locales: [Locale]
  let table: LocaleTable

  /// Texts of these that a locale lacks, in the order of the locales.
  func borrowedTexts(_ keys: [String]) -> [Template.BorrowedText] {
    locales.indices.flatMap { index in
      keys.filter { locales[index].texts[$0] == nil }
        .map { Template.BorrowedText(locale: table.names[index], key: $0) }
    }
  }

  /// The text for one locale: its own, else that of a locale that its readers understand too, else
  /// the default's.
  func text(_ key: String, in locale: Int) -> Text? {
    guard locales.indices.contains(locale) else { return nil }
    if let own = locales[locale].texts[key] { return own }
    for other in table.variants(for: locales[locale].tag) + [table.defaultIndex] {
      if let text = locales[other].texts[key] { return text }
    }
    return nil
  }
}
