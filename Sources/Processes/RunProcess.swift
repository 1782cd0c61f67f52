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
