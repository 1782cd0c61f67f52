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
}
