import Model

/// Which locales a reader of one understands, best first: `LocaleTable` looks for a template's
/// variants in this order.
extension LocaleTag {
  /// The script that the region makes certain where the tag names none. Only Chinese is written so
  /// differently from one place to the next that it matters here (CLDR, likely subtags).
  var impliedScript: String? {
    guard script == nil else { return nil }
    if language == "yue" { return region == "cn" ? "hans" : "hant" }
    guard language == "zh", let region else { return nil }
    switch region {
    case "tw", "hk", "mo": return "hant"
    case "cn", "sg", "my": return "hans"
    default: return nil
    }
  }

  /// The tags to look for, best first, when a recipient has this one: the tag itself and what is
  /// left when subtags fall off its end (RFC 4647, 3.4), with the readers' script or standard
  /// before the bare language: `zh-TW → zh-Hant-TW → zh-Hant → zh`, `es-AR → es-419 → es`, `pt-AO →
  /// pt-PT → pt`.
  var candidates: [String] {
    var result: [String] = []
    var rest = text[...]
    while let cut = rest.lastIndex(of: "-") {
      result.append(String(rest))
      rest = rest[..<cut]
      // A single letter only opens an extension (`-u-…`); no tag ends with it.
      if rest.utf8.count > 2, rest.dropLast().last == "-" { rest = rest.dropLast(2) }
    }
    let language = String(rest)
    let spoken = language == "yue" ? "zh" : language
    if let script = impliedScript {
      if language == "yue" { result.append(language) }
      if let region { result.append("\(spoken)-\(script)-\(region)") }
      result.append("\(spoken)-\(script)")
    } else if language == "yue", let script {
      result += [language, "\(spoken)-\(script)"]
    } else if language == "es", let region, Self.latinAmerica.contains(region) {
      result.append("es-419")
    } else if language == "pt", let region, region != "br" {
      result.append("pt-pt")
    } else if language == "en", let region, region != "us" {
      result += ["en-001", "en-gb"]
    }
    result.append(spoken)
    if language == "nn" { result.append("no") }
    if script == nil, region == nil { result += Self.likely[language] ?? [] }
    return result
  }

  /// Countries whose Spanish descends from es-419 (CLDR, parent locales).
  private static let latinAmerica: Set<String> = [
    "ar", "bo", "br", "bz", "cl", "co", "cr", "cu", "do", "ec", "gt", "hn", "mx", "ni", "pa", "pe",
    "pr", "py", "sv", "us", "uy", "ve",
  ]

  /// Which of several variants a bare language means (CLDR, likely subtags).
  private static let likely = [
    "zh": ["zh-hans", "zh-cn"], "pt": ["pt-br"], "en": ["en-us"], "es": ["es-es", "es-419"],
    "fr": ["fr-fr"], "de": ["de-de"],
  ]
}
