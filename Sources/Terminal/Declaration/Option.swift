/// An option as help, the parser and completions see it, whatever the type of its value.
package struct OptionDeclaration: Sendable {
  /// Long name without dashes: lower-case letters, digits and `-`.
  package let name: String
  package let short: Character?
  package let kind: ValueKind
  let valueName: String
  package let help: String
  package let defaultText: String?
  /// The environment variable or configuration key that says the same, as a hint for readers of
  /// help.
  package let environment: String?
  package let isRequired: Bool
  let isRepeatable: Bool
  package let isHidden: Bool
  package let check: @Sendable (String) throws(ValueRefusal) -> Void

  var takesValue: Bool { kind != .flag }
}

/// An element of a verb's list of options: an `Option` of any type.
package protocol DeclaredOption: Sendable {
  var declaration: OptionDeclaration { get }
}

/// An option of a verb and, at the same time, the key by which its handler reads the value:
/// `static let count = Option("count", .integer(in: 1...10), default: 1, help: "…")`, then
/// `invocation[count]` is an `Int`.
package struct Option<Value: Sendable>: DeclaredOption {
  package let declaration: OptionDeclaration
  /// Total for what the parser has checked; nil only for a required option that was not given.
  let read: @Sendable ([String]) -> Value?

  private init<Element: Sendable>(
    _ name: String, short: Character?, parser: ValueParser<Element>, value: String?, help: String,
    environment: String?, isHidden: Bool, defaultText: String? = nil, isRequired: Bool = false,
    isRepeatable: Bool = false, read: @escaping @Sendable ([String]) -> Value?
  ) {
    declaration = OptionDeclaration(
      name: name, short: short, kind: parser.kind, valueName: value ?? parser.kind.placeholder,
      help: help, defaultText: defaultText, environment: environment, isRequired: isRequired,
      isRepeatable: isRepeatable, isHidden: isHidden,
      check: { (text: String) throws(ValueRefusal) in _ = try parser.parse(text) })
    self.read = read
  }

  /// A switch: false unless given.
  package init(
    flag name: String, short: Character? = nil, help: String, environment: String? = nil,
    isHidden: Bool = false
  ) where Value == Bool {
    self.init(
      name, short: short, parser: .flag, value: nil, help: help, environment: environment,
      isHidden: isHidden, read: { !$0.isEmpty })
  }

  /// Always has a value: the default unless given.
  package init(
    _ name: String, short: Character? = nil, _ parser: ValueParser<Value>, default: Value,
    value: String? = nil, help: String, environment: String? = nil, isHidden: Bool = false
  ) {
    self.init(
      name, short: short, parser: parser, value: value, help: help, environment: environment,
      isHidden: isHidden, defaultText: parser.show(`default`),
      read: { $0.last.flatMap { try? parser.parse($0) } ?? `default` })
  }

  /// Nil unless given.
  package init<Wrapped: Sendable>(
    _ name: String, short: Character? = nil, _ parser: ValueParser<Wrapped>, value: String? = nil,
    help: String, environment: String? = nil, isHidden: Bool = false
  ) where Value == Wrapped? {
    self.init(
      name, short: short, parser: parser, value: value, help: help, environment: environment,
      isHidden: isHidden, read: { .some($0.last.flatMap { try? parser.parse($0) }) })
  }

  /// Refused unless given.
  package init(
    required name: String, short: Character? = nil, _ parser: ValueParser<Value>,
    value: String? = nil, help: String, environment: String? = nil
  ) {
    self.init(
      name, short: short, parser: parser, value: value, help: help, environment: environment,
      isHidden: false, isRequired: true, read: { $0.last.flatMap { try? parser.parse($0) } })
  }

  /// May be given several times; the values come in the order given.
  package init<Element: Sendable>(
    repeated name: String, short: Character? = nil, _ parser: ValueParser<Element>,
    value: String? = nil, help: String, environment: String? = nil, isHidden: Bool = false
  ) where Value == [Element] {
    self.init(
      name, short: short, parser: parser, value: value, help: help, environment: environment,
      isHidden: isHidden, isRepeatable: true,
      read: { $0.compactMap { try? parser.parse($0) } })
  }
}

extension ValueParser where Value == Bool {
  fileprivate static var flag: ValueParser {
    ValueParser(kind: .flag, parse: { _ in true }, show: { String($0) })
  }
}
