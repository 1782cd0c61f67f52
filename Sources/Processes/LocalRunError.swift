/// Why a run on this machine does not go on.
package struct LocalRunError: Error, Sendable {
  package enum Kind: Sendable, Equatable {
    /// It did not do what it should.
    case failed
    /// Something that it needs is not there or does not answer.
    case unavailable
    /// The options or files are wrong.
    case configuration
    /// A signal ended it.
    case interrupted
  }

  package let kind: Kind
  package let message: String
  /// Lines that stand by themselves above the message.
  package let findings: [String]

  package init(_ kind: Kind, _ message: String, findings: [String] = []) {
    self.kind = kind
    self.message = message
    self.findings = findings
  }
}
