import CLinux
import Glibc

/// A process that this one started. Its standard input is empty, its output goes to files, and it
/// leads a process group of its own, so that a terminal's Ctrl-C reaches us alone. Signalled and
/// waited for on one thread, by its process id.
package final class ChildProcess {
  package struct Ending: Sendable {
    /// Nil: ended by a signal.
    package let exitCode: Int32?
    package let signal: Int32?
    /// User and system time of the whole process, in microseconds.
    package let cpuMicroseconds: Double

    package var description: String {
      if let exitCode { return "exit code \(exitCode)" }
      return "signal \(signal ?? 0)"
    }
  }

  package let name: String
  package let processID: pid_t
  package let outputFile: String
  package let logFile: String
  package private(set) var ending: Ending?
  /// Whether its end is a failure; the word of those it is among.
  package var isNeeded = true

  /// - Parameters:
  ///   - command: the program's path and its arguments.
  ///   - outputFile: takes standard output.
  ///   - logFile: takes standard error.
  package init(
    _ name: String, command: [String], outputFile: String, logFile: String
  ) throws(LocalStackError) {
    self.name = name
    self.outputFile = outputFile
    self.logFile = logFile
    processID = try Self.spawn(name, command, outputFile, logFile)
  }

  package var isRunning: Bool { ending == nil }

  /// Nothing once the process has been waited for: its id may be another's by then.
  package func signal(_ number: Int32) {
    if ending == nil { _ = kill(processID, number) }
  }

  /// Takes the ending of the process, if it has ended.
  package func reap() {
    guard ending == nil else { return }
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(processID, &status, WNOHANG, &usage) == processID else { return }
    let exited = status & 0x7F == 0
    let cpu = [usage.ru_utime, usage.ru_stime].reduce(0.0) {
      $0 + Double($1.tv_sec) * 1e6 + Double($1.tv_usec)
    }
    ending = Ending(
      exitCode: exited ? (status >> 8) & 0xFF : nil, signal: exited ? nil : status & 0x7F,
      cpuMicroseconds: cpu)
  }

  private static func spawn(
    _ name: String, _ command: [String], _ outputFile: String, _ logFile: String
  ) throws(LocalStackError) -> pid_t {
    guard let program = command.first else {
      throw LocalStackError(.failed, "\(name) has no program to run")
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let flags = O_WRONLY | O_CREAT | O_APPEND
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, outputFile, flags, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, logFile, flags, 0o600)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    setSignals(&attributes)
    var arguments = Executable.arguments(command)
    defer { for argument in arguments { free(argument) } }
    var processID: pid_t = 0
    let failure = posix_spawn(
      &processID, program, &actions, &attributes, &arguments, linux_environment())
    guard failure == 0 else {
      throw LocalStackError(
        .failed, "\(name) (\(program)) cannot be started: \(String(cString: strerror(failure)))")
    }
    return processID
  }

  /// The child starts with nothing blocked and nothing ignored, whatever we do ourselves.
  private static func setSignals(_ attributes: inout posix_spawnattr_t) {
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for number in [SIGPIPE, SIGTERM, SIGINT, SIGHUP] { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETPGROUP))
  }
}
