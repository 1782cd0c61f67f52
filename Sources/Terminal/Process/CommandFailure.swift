/// Why a command ends early: what to say, and with which code.
package struct CommandFailure: Error, Sendable {
  package let code: ExitCode
  package let message: String
  /// Lines that stand by themselves above the message: `file:line:column: …`.
  package let findings: [String]

  package init(_ code: ExitCode, _ message: String, findings: [String] = []) {
    self.code = code
    self.message = message
    self.findings = findings
  }

  package init(_ error: LineReader.Failure) { self.init(.failed, error.message) }
}

extension Invocation {
  /// Runs a verb's work; what it throws is told on standard error.
  package func reporting(
    _ work: () async throws(CommandFailure) -> ExitCode
  ) async -> ExitCode {
    do {
      return try await work()
    } catch {
      for finding in error.findings { errors.line(TextLayout.printable(finding)) }
      complain(error.message)
      return error.code
    }
  }
}
