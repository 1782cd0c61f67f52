import EventLoop
import Glibc
import Terminal
import Text

/// The child processes of a run, from first to last. All that waits, waits here, so that every
/// wait ends at a signal, at the death of a child that the run cannot do without, or at its
/// deadline. Confined to its loop, whose thread the children die with.
package final class ChildProcesses {
  package let loop: EventLoop
  package let directory: ScratchDirectory
  private let isInterrupted: @Sendable () -> Bool
  private var children: [RunProcess] = []
  private var started: [String: Int] = [:]

  /// How often a wait looks again. A look costs some microseconds.
  private static let pollInterval: Duration = .milliseconds(5)
  /// The time of children between SIGTERM and SIGKILL when a run ends.
  private static let grace: Duration = .seconds(5)
  private static let shownLogLines = 12

  /// - Parameter isInterrupted: true from the moment on that the run must end.
  package init(
    loop: EventLoop, directory: ScratchDirectory, isInterrupted: @escaping @Sendable () -> Bool
  ) {
    self.loop = loop
    self.directory = directory
    self.isInterrupted = isInterrupted
  }

  /// Starts a program; its output goes to `<name>.out`, its errors to `<name>.log`.
  /// - Parameters:
  ///   - isNeeded: its end before `finish` or `stop` fails the run.
  ///   - isGuarded: false for what ends by itself soon and whose CPU time is measured from its
  ///     start.
  package func start(
    _ name: String, _ command: [String], isNeeded: Bool = true, isGuarded: Bool = true
  ) throws(LocalRunError) -> RunProcess {
    loop.assertOnLoop()
    let number = started[name, default: 0] + 1
    started[name] = number
    let files = number == 1 ? name : "\(name)-\(number)"
    let process = try RunProcess(
      name, command: isGuarded ? Executable.guarded(command) : command,
      outputFile: directory.file("\(files).out"), logFile: directory.file("\(files).log"))
    process.isNeeded = isNeeded
    children.append(process)
    return process
  }

  /// Throws when the run must end: a signal came, or a needed child is gone.
  package func checkpoint() throws(LocalRunError) {
    guard !isInterrupted() else {
      throw LocalRunError(.interrupted, "interrupted; everything it started has been stopped")
    }
    for child in children {
      if child.isNeeded, let ending = child.ending { throw failure(of: child, ending) }
    }
  }

  /// Waits until `condition` gives a value.
  /// - Parameter what: completes "… within 10 s", for the message when time is over.
  package func wait<Value>(
    _ what: String, within limit: Duration, blaming culprit: RunProcess? = nil,
    _ condition: () async throws(LocalRunError) -> Value?
  ) async throws(LocalRunError) -> Value {
    let deadline = loop.clock + limit.nanoseconds
    while true {
      try checkpoint()
      if let value = try await condition() { return value }
      guard loop.clock < deadline else {
        throw LocalRunError(
          .failed, "\(what) within \(DurationText.text(limit))",
          findings: culprit.map(lastLogLines) ?? [])
      }
      await loop.wait(Self.pollInterval)
    }
  }

  /// Waits for a program that ends by itself; its end with anything but 0 fails the run.
  package func finish(
    _ process: RunProcess, within limit: Duration
  ) async throws(LocalRunError) -> ChildProcess.Ending {
    process.isNeeded = false
    let ending = try await wait("\(process.name) did not end", within: limit, blaming: process) {
      process.ending
    }
    guard ending.exitCode == 0 else { throw failure(of: process, ending) }
    return ending
  }

  /// Asks a child to end and waits for it.
  package func stop(_ process: RunProcess, within limit: Duration) async throws(LocalRunError) {
    process.signal(SIGTERM)
    _ = try await finish(process, within: limit)
  }

  /// Ends every child: politely first, by force after `grace`. Not disturbed by signals.
  /// - Parameter first: those that end before the others, which they need.
  package func stopAll(first: [RunProcess] = []) async {
    await end(first)
    await end(children)
    children = []
  }

  private func end(_ children: [RunProcess]) async {
    var areGone: Bool { children.allSatisfy { !$0.isRunning } }
    for child in children { child.signal(SIGTERM) }
    let deadline = loop.clock + Self.grace.nanoseconds
    while !areGone, loop.clock < deadline {
      await loop.wait(Self.pollInterval)
    }
    for child in children { child.signal(SIGKILL) }
    while !areGone { await loop.wait(Self.pollInterval) }
  }

  private func failure(of process: RunProcess, _ ending: ChildProcess.Ending) -> LocalRunError {
    LocalRunError(
      .failed, "\(process.name) ended with \(ending.description)", findings: lastLogLines(process))
  }

  private func lastLogLines(_ process: RunProcess) -> [String] {
    // Some programs, such as redis-server, write their log to standard output.
    for file in [process.logFile, process.outputFile] {
      let lines = ScratchDirectory.lastLines(Self.shownLogLines, of: file)
      if !lines.isEmpty { return ["The last lines of \(file):"] + lines.map { "  \($0)" } }
    }
    return []
  }
}

/// A child process of a run: what it is called and where its output went. Confined to the run's
/// loop.
package final class RunProcess {
  package let name: String
  package let outputFile: String
  package let logFile: String
  /// Whether its end is a failure; the word of those it is among.
  package var isNeeded = true
  private let process: ChildProcess

  /// - Parameters:
  ///   - outputFile: takes standard output.
  ///   - logFile: takes standard error.
  package init(
    _ name: String, command: [String], outputFile: String, logFile: String
  ) throws(LocalRunError) {
    self.name = name
    self.outputFile = outputFile
    self.logFile = logFile
    process = try ChildProcess(
      command, output: .file(outputFile), errors: .file(logFile), hasGuardian: false,
      leadsGroup: true)
  }

  package var processID: Int32 { process.processID }
  package var ending: ChildProcess.Ending? { process.ending }
  package var isRunning: Bool { process.isRunning }

  /// Nothing once the process has been waited for: its id may be another's by then.
  package func signal(_ number: Int32) { process.signal(number) }
}
