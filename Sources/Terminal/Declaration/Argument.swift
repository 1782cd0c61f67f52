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
