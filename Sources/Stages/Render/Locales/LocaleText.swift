import Model

/// What a browser is told of the text of a locale.
extension LocaleTag {
  /// As tags are usually written (RFC 5646, section 2.1.1): `zh-Hant-TW`.
  var formatted: String {
    let subtags = text.split(separator: "-").enumerated().map { index, subtag in
      switch subtag.utf8.count {
      case 2 where index > 0: subtag.uppercased()
      case 4 where index > 0: subtag.capitalizedASCII
      default: String(subtag)
      }
    }
    return subtags.joined(separator: "-")
  }

  /// Whether its texts run from right to left: by the script, or by the language's usual one.
  var isRightToLeft: Bool {
    if let script { return Self.scriptsFromRight.contains(script) }
    return Self.languagesFromRight.contains(language)
  }

  private static let scriptsFromRight: Set<String> = [
    "adlm", "arab", "aran", "hebr", "mand", "nkoo", "rohg", "samr", "syrc", "thaa",
  ]

  private static let languagesFromRight: Set<String> = [
    "acm", "aeb", "apc", "ar", "arc", "ary", "arz", "azb", "bal", "bgn", "ckb", "dv", "fa", "glk",
    "he", "khw", "ks", "lrc", "mzn", "nqo", "pnb", "prs", "ps", "sd", "skr", "ug", "ur", "yi",
  ]
}

extension Substring {
  fileprivate var capitalizedASCII: String { prefix(1).uppercased() + dropFirst() }
}
