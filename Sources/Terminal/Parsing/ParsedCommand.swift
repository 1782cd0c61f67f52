/// A command line as the parser read it. Every value in it has been checked.
package struct ParsedCommand: Sendable {
  package let path: [String]
  let verb: Verb
  let options: [String: [String]]
  let arguments: [String: [String]]

  package subscript<Value>(option: Option<Value>) -> Value {
    guard let value = option.read(options[option.declaration.name] ?? []) else {
      preconditionFailure("--\(option.declaration.name) is read but not declared by this verb")
    }
    return value
  }

  package subscript<Value>(argument: Argument<Value>) -> Value {
    guard let value = argument.read(arguments[argument.declaration.name] ?? []) else {
      preconditionFailure("<\(argument.declaration.name)> is read but not declared by this verb")
    }
    return value
  }

  package func isGiven(_ option: some DeclaredOption) -> Bool {
    options[option.declaration.name] != nil
  }
}
