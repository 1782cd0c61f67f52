import LocalStack
import Processes
import Terminal
import VerbSupport

/// A local run of a verb: signals end it, and what goes wrong becomes the verb's failure.
/// - Parameter keepsDirectory: leave the run's directory, and say where it is.
func localRun(
  _ name: String, _ invocation: Invocation, keepsDirectory: Bool = false,
  _ body: @escaping @Sendable (ChildProcesses) async throws(LocalRunError) -> ExitCode
) async throws(CommandFailure) -> ExitCode {
  let signals = StopSignals.catchAll()
  let errors = invocation.errors
  return try await CommandFailure.from { () async throws(LocalRunError) in
    try await LocalRun.run(
      name, isInterrupted: { signals.isRaised },
      keepDirectory: keepsDirectory ? { errors.line("Kept: \($0)") } : nil, body)
  }
}

/// The flags of verbs that run the whole system on this machine.
enum LocalFlags {
  static let json = Option(
    flag: "json",
    help: "Print one JSON object on standard output, and everything else on standard error")
  static let lanes = Option(
    "lanes", .integer(in: 0...256), default: 0,
    help: "The worker's lanes; 0 means one for each core")
  static let templates = Option<String?>(
    "templates", .path, value: "DIR",
    help: "The directory of go-live.yaml; by default the one that comes with Fanfare")

  static func templateDirectory(
    _ invocation: Invocation
  ) async throws(CommandFailure) -> String {
    try await CommandFailure.from { () async throws(LocalRunError) in
      try TemplateDirectory.find(invocation[templates])
    }
  }
}

/// Turns the errors of local runs into the end of a command.
extension CommandFailure {
  /// Runs what fails as local runs do.
  static func from<T>(
    _ body: () async throws(LocalRunError) -> T
  ) async throws(CommandFailure) -> T {
    do throws(LocalRunError) {
      return try await body()
    } catch {
      throw CommandFailure(error)
    }
  }

  init(_ error: LocalRunError) {
    let code: ExitCode =
      switch error.kind {
      case .failed: .failed
      case .unavailable: .unavailable
      case .configuration: .config
      case .interrupted: .retryLater
      }
    self.init(code, error.message, findings: error.findings)
  }
}
