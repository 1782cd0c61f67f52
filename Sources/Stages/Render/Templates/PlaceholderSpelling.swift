import Text

/// Looks for names in placeholders that are nearly those of fields that events and profiles usually
/// have, or that the template has elsewhere: a misspelt one shows nothing, and nobody hears of it.
struct PlaceholderSpelling {
  struct Use {
    let placeholder: TemplateText.Placeholder
    let place: TemplateSource.Place
  }

  private static let usual: [TemplateText.Namespace: [String]] = [
    .streamer: ["id", "name"], .stream: ["id", "title", "category"],
    .recipient: ["name", "locale", "badge"],
  ]
  /// Shorter names are near too many others.
  private static let minimumBytes = 4
  /// Comparing costs the product of their number: a template has a few dozen.
  private static let maximumNames = 256

  let findings: TemplateFindings

  func check(_ uses: [Use]) {
    var counts: [String: Int] = [:]
    for use in uses { counts[use.placeholder.path, default: 0] += 1 }
    guard counts.count <= Self.maximumNames else { return }
    for use in uses where use.placeholder.namespace != .text {
      guard let meant = meant(by: use.placeholder, counts) else { continue }
      findings.warn(
        use.place,
        "'{{\(use.placeholder.path)}}' looks misspelt: did you mean '{{\(meant)}}'?")
    }
  }

  private func meant(by placeholder: TemplateText.Placeholder, _ counts: [String: Int]) -> String? {
    let usual = Self.usual[placeholder.namespace] ?? []
    guard !usual.contains(placeholder.name) else { return nil }
    let prefix = "\(placeholder.namespace.rawValue)."
    if let near = usual.first(where: { Self.isNear(placeholder.name, $0) }) { return prefix + near }
    guard counts[placeholder.path] == 1 else { return nil }
    return counts.filter { $0.value > 1 && $0.key.hasPrefix(prefix) }.map(\.key).sorted()
      .first { Self.isNear(placeholder.name, String($0.dropFirst(prefix.count))) }
  }

  /// In a literal text: a name between single braces, as in `{data.x}` and `${data.x}`, or before
  /// `}}`. A `{{` that is meant as text stays one.
  static func placeholder(meantBy literal: String) -> String? {
    let bytes = Array(literal.utf8)
    for namespace in TemplateText.Namespace.allCases.map({ Array("\($0.rawValue).".utf8) }) {
      for start in bytes.indices where bytes[start...].starts(with: namespace) {
        let name = bytes[(start + namespace.count)...].prefix {
          $0.isASCIIWord || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
        }
        let before = bytes[..<start].reversed().drop { $0 == 0x20 }
        let opening = before.prefix { $0 == UInt8(ascii: "{") }.count
        let closing = bytes[name.endIndex...].drop { $0 == 0x20 }
          .prefix { $0 == UInt8(ascii: "}") }.count
        let isBare = opening == 0 && (start == 0 || !bytes[start - 1].isASCIIWord) && closing >= 2
        guard !name.isEmpty, isBare || (opening == 1 && closing > 0) else { continue }
        return String(decoding: bytes[start..<name.endIndex], as: UTF8.self)
      }
    }
    return nil
  }

  /// Whether other template languages have this behind a bar.
  static func isNoFallback(_ fallback: String) -> Bool {
    let word = fallback.drop { $0 == " " }
    return word.hasPrefix("default:") || word.hasPrefix("default(")
      || TemplateText.Keyword.allCases.contains { $0.rawValue == word }
      || ["upper", "lower", "uppercase", "lowercase", "upcase", "downcase"].contains(String(word))
  }

  /// One letter too many, too few, or wrong, two that are swapped, or another case. Digits count:
  /// `team1` and `team2` are two names.
  private static func isNear(_ name: String, _ other: String) -> Bool {
    let (one, two) = (Array(name.lowercased().utf8), Array(other.lowercased().utf8))
    if one == two { return name != other }
    guard min(one.count, two.count) >= minimumBytes,
      one.filter(\.isASCIIDigit) == two.filter(\.isASCIIDigit)
    else { return false }
    return EditDistance.between(one, two) <= 1
  }
}
