/// A positional argument of a verb and the key by which its handler reads the value.
package struct Argument<Value: Sendable>: DeclaredArgument {
  package let declaration: ArgumentDeclaration
  let read: @Sendable ([String]) -> Value?

  private init<Element: Sendable>(
    _ name: String, parser: ValueParser<Element>, help: String, defaultText: String? = nil,
    isRequired: Bool, takesRest: Bool = false, read: @escaping @Sendable ([String]) -> Value?
  ) {
    declaration = ArgumentDeclaration(
      name: name, kind: parser.kind, help: help, defaultText: defaultText, isRequired: isRequired,
      takesRest: takesRest,
      check: { (text: String) throws(ValueRefusal) in _ = try parser.parse(text) })
    self.read = read
  }

  /// Refused unless given.
  package init(required name: String, _ parser: ValueParser<Value>, help: String) {
    self.init(
      name, parser: parser, help: help, isRequired: true,
      read: { $0.first.flatMap { try? parser.parse($0) } })
  }

  /// Nil unless given.
  package init<Wrapped: Sendable>(_ name: String, _ parser: ValueParser<Wrapped>, help: String)
  where Value == Wrapped? {
    self.init(
      name, parser: parser, help: help, isRequired: false,
      read: { .some($0.first.flatMap { try? parser.parse($0) }) })
  }

  /// All that is left, at least `minimum` (0 or 1) of them.
  package init<Element: Sendable>(
    rest name: String, _ parser: ValueParser<Element>, minimum: Int = 0, help: String
  ) where Value == [Element] {
    self.init(
      name, parser: parser, help: help, isRequired: minimum > 0, takesRest: true,
      read: { $0.compactMap { try? parser.parse($0) } })
  }
}

/// An entry of a verb's list of arguments: an `Argument` of any type.
package protocol DeclaredArgument: Sendable {
  var declaration: ArgumentDeclaration { get }
}

/// A positional argument as help, the parser and completions see it.
package struct ArgumentDeclaration: Sendable {
  package let name: String
  package let kind: ValueKind
  package let help: String
  package let defaultText: String?
  package let isRequired: Bool
  /// Takes all that is left; only the last argument of a verb may.
  package let takesRest: Bool
  package let check: @Sendable (String) throws(ValueRefusal) -> Void

  var usage: String {
    let plain = takesRest ? "<\(name)>..." : "<\(name)>"
    return isRequired ? plain : "[\(plain)]"
  }
}
