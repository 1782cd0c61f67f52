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
  /// Mappings by name, of fields that are texts, paths, numbers, flags or lists. The value is a map
  /// by `<name>.<field>`, as a flag writes it; a list's items are lines in it.
  case records([String: SettingKind])
  case path
  /// A path whose content is the value of the secret key named here.
  case secretFile(of: String)

  /// Of a list in a record: no item holds a line break.
  static func items(of text: String) -> [String] {
    text.split(separator: "\n").map(String.init)
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
}

/// A value of one key, after reading.
package enum SettingValue: Sendable, Equatable {
  case text(String)
  case integer(Int)
  case duration(Duration)
  case bool(Bool)
  case list([String])
  case map([String: String])
}
