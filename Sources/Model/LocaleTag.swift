import Text

/// A language tag (BCP 47) in the form that it is compared in: lower case, `-` between subtags, a
/// script before the region, without extensions (`-u-ca-gregory`), the encoding of a POSIX name
/// (`en_US.UTF-8`, `de_DE@euro`) and keywords of ICU (`@calendar=japanese`); withdrawn language
/// codes replaced (`iw` → `he`).
package struct LocaleTag: Hashable, Sendable {
  /// RFC 5646, 4.4.1: what a conforming tag needs at most without extensions.
  static let maximumBytes = 35
  /// With everything that is cut off. Devices send keywords of some 60 bytes.
  static let maximumWrittenBytes = 255

  package let text: String

  /// Nil unless it looks like a tag: a language of 2…8 letters, then subtags of 1…8 letters and
  /// digits. Also as Java writes one: `zh_TW_#Hant`, `zh__#Hans`.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard (2...Self.maximumWrittenBytes).contains(bytes.count) else { return nil }
    let end = bytes.firstIndex { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "@") }
    guard
      var subtags = Self.subtags(UnsafeRawBufferPointer(rebasing: bytes[..<(end ?? bytes.count)])),
      let language = subtags.first, (2...8).contains(language.count),
      language.utf8.allSatisfy(\.isASCIILetter)
    else { return nil }
    subtags[0] = Self.modernLanguages[language] ?? language
    if subtags[0] == "zh", subtags.count > 1, let script = Self.scriptsOfDotNet[subtags[1]] {
      subtags[1] = script
    }
    let script = subtags.dropFirst().firstIndex(where: Self.isScript)
    if let script, script > 1 { subtags.insert(subtags.remove(at: script), at: 1) }
    if script == nil, let named = Self.script(ofModifier: bytes[(end ?? bytes.count)...]) {
      subtags.insert(named, at: 1)
    }
    let text = subtags.joined(separator: "-")
    guard text.utf8.count <= Self.maximumBytes else { return nil }
    self.text = text
  }

  package init?(_ text: String) {
    var text = text
    guard let tag = text.withUTF8({ LocaleTag(UnsafeRawBufferPointer($0)) }) else { return nil }
    self = tag
  }

  /// In lower case, up to the first extension. Nil for what is none.
  private static func subtags(_ bytes: UnsafeRawBufferPointer) -> [String]? {
    var subtags: [String] = []
    var current: [UInt8] = []
    var isBehindUnderscore = false
    for (index, byte) in bytes.enumerated() {
      let isSeparator = byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      if !isSeparator {
        let opensScript = byte == UInt8(ascii: "#") && current.isEmpty && isBehindUnderscore
        guard byte.isASCIIWord || opensScript else { return nil }
        if !opensScript { current.append(byte.asciiLowered) }
        guard current.count <= 8 else { return nil }
        if index < bytes.count - 1 { continue }
      }
      if current.count == 1, !subtags.isEmpty { return subtags }
      if current.isEmpty {
        // Java leaves an absent region empty.
        guard isSeparator, byte == UInt8(ascii: "_"), isBehindUnderscore else { return nil }
      } else {
        subtags.append(String(decoding: current, as: UTF8.self))
      }
      if isSeparator, index == bytes.count - 1 { return nil }
      current = []
      isBehindUnderscore = byte == UInt8(ascii: "_")
    }
    return subtags
  }

  private static func isScript(_ subtag: String) -> Bool {
    subtag.utf8.count == 4 && subtag.utf8.allSatisfy(\.isASCIILetter)
  }

  /// Of `sr_RS@latin`, as the C library names locales.
  private static func script(ofModifier bytes: Slice<UnsafeRawBufferPointer>) -> String? {
    guard let start = bytes.firstIndex(of: UInt8(ascii: "@")) else { return nil }
    switch String(decoding: bytes[(start + 1)...], as: UTF8.self) {
    case "latin": return "latn"
    case "cyrillic": return "cyrl"
    case "devanagari": return "deva"
    default: return nil
    }
  }

  /// Former names of .NET and of games: `zh-CHT`.
  private static let scriptsOfDotNet = ["chs": "hans", "cht": "hant"]

  package var language: String { String(text.prefix { $0 != "-" }) }

  /// The subtag of four letters behind the language, when there is one.
  package var script: String? {
    text.split(separator: "-").dropFirst().prefix(2).map(String.init).first(where: Self.isScript)
  }

  /// The subtag of two letters or three digits that names a country or an area.
  package var region: String? {
    text.split(separator: "-").dropFirst().first {
      ($0.utf8.count == 2 && $0 >= "a") || ($0.utf8.count == 3 && $0 < "a")
    }.map(String.init)
  }

  // MARK: languages

  /// Whether there is the language: of two letters those of ISO 639-1, of three any, since there
  /// are thousands of them.
  package var isOfKnownLanguage: Bool {
    switch language.utf8.count {
    case 2: Self.languages.contains(language)
    case 3: true
    default: false
    }
  }

  /// A guess at the locale that the writer of an unknown one meant, in words behind a rule; empty
  /// where there is none.
  package static func hint(_ text: String) -> String {
    if ["c", "posix"].contains(text.prefix { $0 != "." }.lowercased()) {
      return "; \(text) is no language: leave the locale out"
    }
    if text.contains(",") || text.contains(";") { return "; one tag, not a list of them" }
    guard let tag = LocaleTag(text), let meant = languagesOfCountries[tag.language] else {
      return ""
    }
    return "; \(tag.language) is a country, and its language \(meant)"
  }

  /// Codes of countries that are none of languages, and people write for them.
  private static let languagesOfCountries = [
    "jp": "ja", "cn": "zh-Hans", "hk": "zh-Hant-HK", "cz": "cs",
    "dk": "da", "ua": "uk", "us": "en", "gb": "en-GB", "gr": "el", "vn": "vi", "at": "de-AT",
    "il": "he", "ir": "fa", "mx": "es-MX", "ph": "fil", "rs": "sr",
    "au": "en-AU", "nz": "en-NZ", "al": "sq", "by": "be", "ge": "ka", "kz": "kk",
  ]

  /// ISO 639-1, and codes of it that were withdrawn.
  package static let languages = Set(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da
    de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz
    ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln
    lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi
    pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th
    ti tk tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split { $0 == " " || $0 == "\n" }.map(String.init))

  /// Withdrawn or merged codes that devices and old profiles still send (IANA language subtag
  /// registry), and codes of three letters where there is one of two (ISO 639-2).
  private static let modernLanguages = [
    "iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro", "tl": "fil", "cmn": "zh",
    "nb": "no", "nob": "no", "nor": "no", "nno": "nn", "arb": "ar", "eng": "en", "jpn": "ja",
    "zho": "zh",
    "chi": "zh", "kor": "ko", "spa": "es", "por": "pt", "fra": "fr", "fre": "fr", "deu": "de",
    "ger": "de", "ita": "it", "rus": "ru", "ara": "ar", "hin": "hi", "ind": "id", "tha": "th",
    "vie": "vi", "tur": "tr", "pol": "pl", "nld": "nl", "dut": "nl", "swe": "sv", "dan": "da",
    "fin": "fi", "ces": "cs", "cze": "cs", "ell": "el", "gre": "el", "heb": "he", "hun": "hu",
    "ron": "ro", "rum": "ro", "ukr": "uk", "msa": "ms", "may": "ms", "ben": "bn", "tam": "ta",
    "tel": "te", "urd": "ur", "fas": "fa", "per": "fa", "cat": "ca", "tgl": "fil",
  ]
}
