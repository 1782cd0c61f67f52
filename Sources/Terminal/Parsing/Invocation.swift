/// A verb with the values that were given: what its handler gets.
package struct Invocation: Sendable {
  package let program: Program
  /// `["audience", "seed"]`
  package let path: [String]
  let clock: CommandClock
  package let output: Console
  package let errors: Console
  let command: ParsedCommand

  /// Ms since 1970.
  package var nowMilliseconds: Int64 { clock.wallMilliseconds() }
  /// Monotonic.
  package var nowNanoseconds: UInt64 { clock.monotonicNanoseconds() }

  /// The value of an option that this verb declares.
  package subscript<Value>(option: Option<Value>) -> Value { command[option] }
  package subscript<Value>(argument: Argument<Value>) -> Value { command[argument] }

  /// Whether an option stood on the command line, as opposed to its default.
  package func isGiven(_ option: some DeclaredOption) -> Bool { command.isGiven(option) }

  /// Tells what went wrong on standard error, one line, with the program's name.
  package func complain(_ message: String) {
    program.complain(message, on: errors)
  }
}

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

/// The times that verbs go by.
package struct CommandClock: Sendable {
  /// Since 1970.
  let wallMilliseconds: @Sendable () -> Int64
  let monotonicNanoseconds: @Sendable () -> UInt64

  package init(
    wallMilliseconds: @escaping @Sendable () -> Int64,
    monotonicNanoseconds: @escaping @Sendable () -> UInt64
  ) {
    self.wallMilliseconds = wallMilliseconds
    self.monotonicNanoseconds = monotonicNanoseconds
  }
}
