/// A language tag (BCP 47) in the form that it is compared in: lower case, `-` between subtags, the
/// encoding of a POSIX name (`en_US.UTF-8`, `de_DE@euro`) cut off, withdrawn language codes
/// replaced (`iw` → `he`).
struct LocaleTag: Hashable {
  /// RFC 5646, 4.4.1: what a conforming tag needs at most without extensions.
  static let maximumBytes = 35

  let text: String

  /// Nil unless it looks like a tag: a language of 2…8 letters, then subtags of 1…8 letters and
  /// digits.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 2, bytes.count <= 2 * Self.maximumBytes else { return nil }
    var normal: [UInt8] = []
    var subtag = 0
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): normal.append(byte | 0x20)
      case UInt8(ascii: "a")...UInt8(ascii: "z"): normal.append(byte)
      case UInt8(ascii: "0")...UInt8(ascii: "9") where normal.contains(Self.hyphen):
        normal.append(byte)
      case Self.hyphen, UInt8(ascii: "_"):
        guard subtag >= (normal.contains(Self.hyphen) ? 1 : 2) else { return nil }
        normal.append(Self.hyphen)
        subtag = -1
      case UInt8(ascii: "."), UInt8(ascii: "@"):
        self.init(normal: normal, lastSubtag: subtag)
        return
      default: return nil
      }
      subtag += 1
      guard subtag <= 8 else { return nil }
    }
    self.init(normal: normal, lastSubtag: subtag)
  }

  init?(_ text: String) {
    var text = text
    guard let tag = text.withUTF8({ LocaleTag(UnsafeRawBufferPointer($0)) }) else { return nil }
    self = tag
  }

  private init?(normal: [UInt8], lastSubtag: Int) {
    let isLanguageAlone = !normal.contains(Self.hyphen)
    guard lastSubtag >= (isLanguageAlone ? 2 : 1), normal.count <= Self.maximumBytes else {
      return nil
    }
    let text = String(decoding: normal, as: UTF8.self)
    let language = text.prefix { $0 != "-" }
    if let modern = Self.modernLanguages[String(language)] {
      self.text = modern + text[language.endIndex...]
    } else {
      self.text = text
    }
  }

  private static let hyphen = UInt8(ascii: "-")

  /// Withdrawn or merged codes that devices and old profiles still send (IANA language subtag
  /// registry).
  private static let modernLanguages = [
    "iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro", "tl": "fil", "cmn": "zh",
    "nb": "no",
  ]

  var language: String { String(text.prefix { $0 != "-" }) }

  /// The subtag of four letters behind the language, when there is one.
  var script: String? {
    text.split(separator: "-").dropFirst().prefix(2).first { $0.utf8.count == 4 && $0 >= "a" }
      .map(String.init)
  }

  /// The subtag of two letters or three digits that names a country or an area.
  var region: String? {
    text.split(separator: "-").dropFirst().first {
      ($0.utf8.count == 2 && $0 >= "a") || ($0.utf8.count == 3 && $0 < "a")
    }.map(String.init)
  }

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
      // A single letter only opens an extension (`-u-…`); it does not stand at the end of a tag.
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
