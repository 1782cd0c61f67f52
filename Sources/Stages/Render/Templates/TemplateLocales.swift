import Model

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
