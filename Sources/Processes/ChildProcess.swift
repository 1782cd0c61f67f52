import Glibc
import Text
import Threads

/// A program that this process started: ended by its process id, at the latest when the object
/// goes. Should this process crash, a guardian process kills it.
package final class ChildProcess: Sendable {
  package enum Output: Sendable {
    case discard
    /// Appended to a file.
    case file(String)
    /// Read by `waitForLine` and `readToEnd`. A child that writes over 64 KiB unread is held up.
    case pipe

    fileprivate func open(_ descriptor: Int32, _ actions: inout posix_spawn_file_actions_t) {
      let flags = O_WRONLY | O_CREAT | O_APPEND
      if case .file(let path) = self {
        posix_spawn_file_actions_addopen(&actions, descriptor, path, flags, 0o600)
      } else {
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
      }
    }
  }

  package struct Ending: Sendable, CustomStringConvertible {
    /// nil: ended by a signal.
    package let exitCode: Int32?
    package let signal: Int32?
    /// User and system time of the whole process, in microseconds.
    package let cpuMicroseconds: Double

    package var description: String {
      if let exitCode { return "exit code \(exitCode)" }
      return "signal \(signal ?? 0)"
    }

    /// As a shell says it: 128 and the number of the signal that ended it.
    package var status: Int32 { exitCode ?? 128 + (signal ?? 0) }

    fileprivate init(_ raw: Int32, _ usage: rusage) {
      let hasExited = raw & 0x7F == 0
      exitCode = hasExited ? (raw >> 8) & 0xFF : nil
      signal = hasExited ? nil : raw & 0x7F
      cpuMicroseconds = [usage.ru_utime, usage.ru_stime].reduce(0.0) {
        $0 + Double($1.tv_sec) * 1e6 + Double($1.tv_usec)
      }
    }
  }

  package let processID: pid_t
  private let output: Int32
  private let guardian: Guardian?
  private let known = ThreadLock<Ending?>(nil)

  /// Starts the program, which is looked up in PATH, with nothing blocked and nothing ignored,
  /// whatever this process does; its standard input is empty.
  ///
  /// - Parameters:
  ///   - output: takes what it says.
  ///   - errors: takes its standard error; nil: `output` does.
  ///   - environment: is added to this process's own.
  ///   - hasGuardian: false for what dies with this process anyway.
  ///   - leadsGroup: it leads a process group of its own, so that a terminal's Ctrl-C reaches this
  ///     process alone.
  package init(
    _ arguments: [String], output: Output = .discard, errors: Output? = nil,
    environment: [String: String] = [:], hasGuardian: Bool = true, leadsGroup: Bool = false
  ) throws(LocalRunError) {
    var pipe: (read: Int32, write: Int32)?
    if case .pipe = output { pipe = try Spawn.makePipe() }
    defer { if let pipe { close(pipe.write) } }
    do throws(LocalRunError) {
      processID = try Spawn.start(
        arguments, environment: environment, leadsGroup: leadsGroup
      ) { actions in
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        if let pipe {
          posix_spawn_file_actions_adddup2(&actions, pipe.write, 1)
        } else {
          output.open(1, &actions)
        }
        if let errors {
          errors.open(2, &actions)
        } else {
          posix_spawn_file_actions_adddup2(&actions, 1, 2)
        }
      }
    } catch {
      if let pipe { close(pipe.read) }
      throw error
    }
    self.output = pipe?.read ?? -1
    guardian = hasGuardian ? Guardian(of: processID) : nil
  }

  deinit {
    stop(SIGKILL)
    if output >= 0 { close(output) }
  }

  /// Sends a signal, unless the process has been waited for already.
  package func signal(_ number: Int32) {
    known.withLock { if $0 == nil { _ = Glibc.kill(processID, number) } }
  }

  /// Sends a signal and waits for the end. The exit code; 128 + the signal's number when one ended
  /// it.
  @discardableResult
  package func stop(_ number: Int32 = SIGTERM) -> Int32 {
    signal(number)
    return waitForExit()
  }

  @discardableResult
  package func waitForExit() -> Int32 { waitForEnding().status }

  func waitForEnding() -> Ending {
    // Waits outside the lock, so that others may signal meanwhile; reaps inside, so that they never
    // signal a process id that has become another's.
    var information = siginfo_t()
    while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    return known.withLock { known in
      while true { if let ending = reap(&known) { return ending } }
    }
  }

  /// How it ended, if it has; does not wait.
  package var ending: Ending? { known.withLock { reap(&$0) } }

  package var isRunning: Bool { ending == nil }

  private func reap(_ known: inout Ending?) -> Ending? {
    if let known { return known }
    var raw: Int32 = 0
    var usage = rusage()
    guard wait4(processID, &raw, WNOHANG, &usage) == processID else { return nil }
    guardian?.dismiss()
    known = Ending(raw, usage)
    return known
  }

  /// Reads the output until a line contains `text`. The error has the output so far, when the
  /// output ends or the time is over.
  package func waitForLine(
    containing text: String, timeout: Duration = .seconds(10)
  ) throws(LocalRunError) {
    var read = ""
    let deadline = ContinuousClock.now + timeout
    while !read.contains(text) {
      let left = (deadline - ContinuousClock.now).wholeMilliseconds
      var watched = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard left > 0, poll(&watched, 1, Int32(clamping: left)) != 0 else {
        throw LocalRunError(
          .failed, "no '\(text)' within " + DurationText.text(timeout) + ", but: \(read)")
      }
      guard let more = readSome() else {
        throw LocalRunError(.failed, "ended without '\(text)', but: \(read)")
      }
      read += more
    }
  }

  package func readToEnd() -> String {
    var text = ""
    while let more = readSome() { text += more }
    return text
  }

  /// The output so far, when there is some; nil at the end.
  package func readSome() -> String? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = Glibc.read(output, &buffer, buffer.count)
      if count > 0 { return String(decoding: buffer[0..<count], as: UTF8.self) }
      if count == 0 || errno != EINTR { return nil }
    }
  }

  /// Runs a program to its end; its output, or an error when it does not exit with 0.
  ///
  /// - Parameter hasGuardian: false for what comes to its end at once.
  package static func run(
    _ arguments: [String], hasGuardian: Bool = true
  ) throws(LocalRunError) -> String {
    let process = try ChildProcess(arguments, output: .pipe, hasGuardian: hasGuardian)
    let text = process.readToEnd()
    let code = process.waitForExit()
    guard code == 0 else {
      throw LocalRunError(.failed, "\(arguments) exited with \(code): \(text)")
    }
    return text
  }
}

/// Kills the child when this process ends without having done so: its stdin is a pipe that closes
/// then.
final class Guardian: Sendable {
  private let processID: pid_t?
  private let lifeline: Int32

  init(of child: pid_t) {
    guard let pipe = try? Spawn.makePipe() else {
      processID = nil
      lifeline = -1
      return
    }
    lifeline = pipe.write
    processID = try? Spawn.start(["sh", "-c", "read line; kill -9 \(child)"]) { actions in
      posix_spawn_file_actions_adddup2(&actions, pipe.read, 0)
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
    close(pipe.read)
  }

  func dismiss() {
    if let processID {
      _ = Glibc.kill(processID, SIGKILL)
      var status: Int32 = 0
      while waitpid(processID, &status, 0) < 0, errno == EINTR {}
    }
    if lifeline >= 0 { close(lifeline) }
  }
}

/// posix_spawn(3).
enum Spawn {
  /// Between a pipe's making and its close-on-exec mark no child may start and inherit it.
  private static let exclusive = ThreadLock(())

  static func makePipe() throws(LocalRunError) -> (read: Int32, write: Int32) {
    try exclusive.withLock { _ throws(LocalRunError) in
      var ends: [Int32] = [-1, -1]
      guard Glibc.pipe(&ends) == 0 else { throw LocalRunError(.failed, "no pipe: errno \(errno)") }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      return (ends[0], ends[1])
    }
  }

  static func start(
    _ arguments: [String], environment: [String: String] = [:], leadsGroup: Bool = false,
    redirect: (inout posix_spawn_file_actions_t) -> Void
  ) throws(LocalRunError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    redirect(&actions)
    guard let program = arguments.first else { throw LocalRunError(.failed, "no program named") }
    var argv: [UnsafeMutablePointer<CChar>?] = Executable.arguments(arguments)
    var envp = inherited(environment)
    defer { for text in argv + envp { free(text) } }
    // The child starts with default signals, whatever this process has done to its own.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for number in [SIGPIPE, SIGTERM, SIGINT, SIGHUP] { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    let group = leadsGroup ? Int16(POSIX_SPAWN_SETPGROUP) : 0
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | group)
    var processID: pid_t = 0
    let result = exclusive.withLock { _ in
      posix_spawnp(&processID, program, &actions, &attributes, &argv, &envp)
    }
    guard result == 0 else {
      throw LocalRunError(
        .failed, "\(program) cannot be started: \(String(cString: strerror(result)))")
    }
    return processID
  }

  private static func inherited(_ added: [String: String]) -> [UnsafeMutablePointer<CChar>?] {
    var entries: [UnsafeMutablePointer<CChar>?] = []
    var next = environ
    while let entry = next.pointee {
      let name = String(cString: entry).prefix { $0 != "=" }
      if added[String(name)] == nil { entries.append(strdup(entry)) }
      next += 1
    }
    return entries + added.map { strdup("\($0.key)=\($0.value)") } + [nil]
  }
}
