extension Program {
  /// Parses and does what is asked: help and version are printed here, errors are told with the
  /// way to help, all else is the verb's handler.
  package func execute(
    _ arguments: [String], clock: CommandClock, output: Console, errors: Console
  ) async -> ExitCode {
    do throws(TerminalError) {
      if arguments.isEmpty {
        errors.write(help(path: [], on: errors))
        return .usage
      }
      switch try parse(arguments) {
      case .help(let path):
        output.write(help(path: path, on: output))
        return .ok
      case .version:
        output.line("\(name) \(version)")
        return .ok
      case .run(let command):
        guard let handler = command.verb.handler else { return .usage }
        let invocation = Invocation(
          program: self, path: command.path, clock: clock, output: output, errors: errors,
          command: command)
        return await run(handler, invocation)
      }
    } catch {
      complain(error.description, on: errors)
      let command = ([name] + error.path).joined(separator: " ")
      errors.line("Try '\(command) --help'.")
      return .usage
    }
  }

  private func run(_ handler: Verb.Handler, _ invocation: Invocation) async -> ExitCode {
    do {
      return try await handler(invocation)
    } catch {
      for finding in error.findings {
        invocation.errors.line(TextLayout.printable(finding))
      }
      invocation.complain(error.message)
      return error.code
    }
  }

  func complain(_ message: String, on console: Console) {
    // Servers' words are in it.
    console.line(console.styled("\(name):", .red) + " \(TextLayout.printable(message))")
  }
}
