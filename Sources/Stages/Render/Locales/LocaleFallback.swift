import Model

/// Which locales a reader of one understands, best first: `LocaleTable` looks for a template's
/// variants in this order.
extension LocaleTag {
  /// The language whose texts its speakers read where there are none in their own (CLDR, language
  /// matching). Apple's devices offer some of these.
  var writtenLanguage: String {
    if Self.chinese.contains(language) { return "zh" }
    return language == "gsw" ? "de" : language
  }

  /// The members of the macrolanguage Chinese (ISO 639-3).
  private static let chinese: Set<String> = [
    "cdo", "cjy", "cnp", "cpx", "csp", "czh", "czo", "gan", "hak", "hsn", "lzh", "mnp", "nan",
    "wuu", "yue",
  ]

  /// The script that the region makes certain where the tag names none. Only Chinese is written so
  /// differently from one place to the next that it matters here (CLDR, likely subtags).
  var impliedScript: String? {
    guard script == nil, writtenLanguage == "zh" else { return nil }
    switch (language, region) {
    case ("yue", let region): return region == "cn" ? "hans" : "hant"
    case (_, "tw"), (_, "hk"), (_, "mo"): return "hant"
    case (_, "cn"), (_, "sg"), (_, "my"): return "hans"
    case ("zh", _): return nil
    default: return "hans"
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
    let written = writtenLanguage
    if written != language { result.append(language) }
    if let script = impliedScript {
      if let region { result.append("\(written)-\(script)-\(region)") }
      result.append("\(written)-\(script)")
    } else if written != language, let script {
      result.append("\(written)-\(script)")
    } else if language == "es", let region, Self.latinAmerica.contains(region) {
      result.append("es-419")
    } else if language == "pt", let region, region != "br" {
      result.append("pt-pt")
    } else if language == "en", let region, region != "us" {
      result += ["en-001", "en-gb"]
    }
    result.append(written)
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
