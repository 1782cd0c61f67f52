import EventLoop
import Terminal

/// A run with child processes and a directory of its own, which leaves neither behind, however it
/// ends.
enum Rehearsal {
  /// - Parameters:
  ///   - name: what the directory's name begins with.
  ///   - keepsDirectory: leave it, also after a failure.
  static func run(
    _ name: String, keepsDirectory: Bool, errors: Console,
    _ body: @escaping @Sendable (Household) async throws(CommandFailure) -> ExitCode
  ) async throws(CommandFailure) -> ExitCode {
    let signals = StopSignals.catchAll()
    let directory = try ScratchDirectory(name)
    defer {
      if keepsDirectory {
        errors.line("Kept: \(directory.path)")
      } else {
        directory.remove()
      }
    }
    return try await CommandLoop.run {
      (_: isolated LoopActor, loop: EventLoop) async throws(CommandFailure) -> ExitCode in
      let household = Household(loop: loop, directory: directory, signals: signals)
      do throws(CommandFailure) {
        let code = try await body(household)
        await household.stopAll()
        return code
      } catch {
        await household.stopAll()
        throw error
      }
    }
  }
}
