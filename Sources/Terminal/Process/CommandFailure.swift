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
