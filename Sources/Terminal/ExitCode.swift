/// How a command ends: what scripts, systemd and Kubernetes read (the numbers from 64 on are
/// sysexits.h's).
package enum ExitCode: Int32, Sendable, CaseIterable {
  case ok = 0
  case failed = 1
  case incomplete = 3
  case cancelled = 4
  case unknown = 5
  case timedOut = 6
  case usage = 64
  case unavailable = 69
  case retryLater = 75
  case config = 78

  package var meaning: String {
    switch self {
    case .ok: "success"
    case .failed: "the command ran, but it failed or found a problem"
    case .incomplete: "the fan-out ended before everything was sent (incomplete, expired)"
    case .cancelled: "the fan-out was cancelled"
    case .unknown: "Redis does not know the event"
    case .timedOut: "the fan-out did not end within the time limit"
    case .usage: "the command line is wrong"
    case .unavailable: "a service that the command needs is down"
    case .retryLater: "the command stopped half way; it may succeed if you run it again later"
    case .config: "the configuration is wrong"
    }
  }
}

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
