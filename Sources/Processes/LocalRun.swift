import EventLoop

/// A run with child processes and a directory of its own. It leaves no process behind, however it
/// ends, and no directory that it has made.
package enum LocalRun {
  /// - Parameters:
  ///   - name: what the directory's name begins with.
  ///   - isInterrupted: true from the moment on that the run must end; asked from any thread.
  ///   - keepDirectory: called with the path of the directory, which then stays, also after a
  ///     failure; nil: it goes.
  package static func run<Result: Sendable>(
    _ name: String, isInterrupted: @escaping @Sendable () -> Bool,
    keepDirectory: ((String) -> Void)? = nil,
    _ body: @escaping @Sendable (ChildProcesses) async throws(LocalRunError) -> Result
  ) async throws(LocalRunError) -> Result {
    let directory = try ScratchDirectory(name)
    if keepDirectory != nil { directory.keep() }
    defer { keepDirectory?(directory.path) }
    return try await run(in: directory, isInterrupted: isInterrupted, body)
  }

  /// As above, in a directory that is there.
  package static func run<Result: Sendable>(
    in directory: ScratchDirectory, isInterrupted: @escaping @Sendable () -> Bool,
    _ body: @escaping @Sendable (ChildProcesses) async throws(LocalRunError) -> Result
  ) async throws(LocalRunError) -> Result {
    try await EventLoop.temporary("local-run") {
      (_: isolated LoopActor, loop: EventLoop) async throws(LocalRunError) -> Result in
      let processes = ChildProcesses(loop: loop, directory: directory, isInterrupted: isInterrupted)
      do throws(LocalRunError) {
        let result = try await body(processes)
        await processes.stopAll()
        return result
      } catch {
        await processes.stopAll()
        throw error
      }
    }
  }
}
