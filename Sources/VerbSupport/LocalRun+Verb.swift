import LocalStack
import Terminal

/// A local run of a verb: signals end it, and what goes wrong becomes the verb's failure.
/// - Parameter keepsDirectory: leave the run's directory, and say where it is.
package func localRun(
  _ name: String, _ invocation: Invocation, keepsDirectory: Bool = false,
  _ body: @escaping @Sendable (ChildProcesses) async throws(LocalStackError) -> ExitCode
) async throws(CommandFailure) -> ExitCode {
  let signals = StopSignals.catchAll()
  let errors = invocation.errors
  return try await CommandFailure.from { () async throws(LocalStackError) in
    try await LocalRun.run(
      name, isInterrupted: { signals.isRaised },
      keepDirectory: keepsDirectory ? { errors.line("Kept: \($0)") } : nil, body)
  }
}
