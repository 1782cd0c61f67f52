import JSON
import Text

/// The kind of value that a key takes, with its bounds.
package enum SettingKind: Sendable {
  case text(TextRule)
  case secret
  case integer(ClosedRange<Int>)
  case duration(ClosedRange<Duration>)
  /// Bytes.
  case size(ClosedRange<Int>)
  case bool
  case choice([String])
  case list(TextRule)
  /// Texts by name; the rule says what is wrong with an entry, or nil.
  case map(@Sendable (_ name: String, _ value: String) -> SettingComplaint?)
  /// Mappings by name, of fields that are texts or paths. The value is a map by `<name>.<field>`,
  /// as a flag writes it.
  case records([String: SettingKind])
  case path
  /// A path whose content is the value of the secret key named here.
  case secretFile(of: String)

  package var isSecret: Bool {
    if case .secret = self { true } else { false }
  }

  var isMap: Bool {
    switch self {
    case .map, .records: true
    default: false
    }
  }

  /// For people: `a duration, 1s…5m`.
  package var summary: String {
    switch self {
    case .text(let rule): rule.summary
    case .secret: "secret text"
    case .integer(let range): "an integer, \(range.lowerBound)…\(range.upperBound)"
    case .duration(let range):
      "a duration, \(DurationText.text(range.lowerBound))…\(DurationText.text(range.upperBound))"
    case .size(let range):
      "a size, \(SizeText.text(range.lowerBound))…\(SizeText.text(range.upperBound))"
    case .bool: "true or false"
    case .choice(let names): "one of " + names.joined(separator: ", ")
    case .list(let rule): "a list, each \(rule.summary)"
    case .map: "a mapping of texts"
    case .records: "a mapping of mappings"
    case .path: "the path of a file or directory"
    case .secretFile: "the path of a file"
    }
  }

  /// The value as it is written in YAML.
  package func yaml(_ value: SettingValue) -> String {
    switch value {
    case .text(let text): YAMLText.scalar(text)
    case .integer(let number):
      if case .size = self { SizeText.text(number) } else { String(number) }
    case .duration(let duration): DurationText.text(duration)
    case .bool(let flag): flag ? "true" : "false"
    case .list(let items): "[" + items.map(JSONString.quoted).joined(separator: ", ") + "]"
    case .map(let entries):
      "{"
        + entries.sorted { $0.key < $1.key }
        .map { "\(YAMLText.scalar($0.key)): \(JSONString.quoted($0.value))" }.joined(
          separator: ", ")
        + "}"
    }
  }
}

enum YAMLText {
  /// Plain where YAML reads it back as the same text, else in double quotes.
  static func scalar(_ text: String) -> String {
    let isPlain =
      text.utf8.allSatisfy { byte in
        byte.isASCIIWord || [0x2D, 0x2E, 0x2F, 0x5F].contains(byte)
      } && text.utf8.first.map { $0 >= 0x41 } == true
    let isWord = ["true", "false", "null", "yes", "no", "on", "off"].contains(text.lowercased())
    return isPlain && !isWord ? text : JSONString.quoted(text)
  }
}
