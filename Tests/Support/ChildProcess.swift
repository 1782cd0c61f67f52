import Glibc
import Synchronization

package struct TestSupportError: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// A program that a test runs: ended by its process id, at the latest when the object goes. Should
/// the test itself crash, a guardian process kills it.
package final class ChildProcess: Sendable {
  package enum Output: Sendable {
    case discard
    /// Appended to a file.
    case file(String)
    /// Read by `waitForLine` and `readToEnd`. A child that writes over 64 KiB unread is held up.
    case pipe
  }

  package let processID: pid_t
  private let output: Int32
  private let guardian: Guardian
  private let status = Mutex<Int32?>(nil)

  /// Starts the program, which is looked up in PATH; stdin is empty, stdout and stderr go to
  /// `output`. `environment` is added to this process's own.
  package init(
    _ arguments: [String], output: Output = .discard, environment: [String: String] = [:]
  ) throws {
    var pipe: (read: Int32, write: Int32)?
    var target: (path: String, flags: Int32) = ("/dev/null", O_WRONLY)
    switch output {
    case .discard: break
    case .file(let path): target = (path, O_WRONLY | O_CREAT | O_APPEND)
    case .pipe: pipe = try Spawn.makePipe()
    }
    defer { if let pipe { close(pipe.write) } }
    do {
      processID = try Spawn.start(arguments, environment: environment) { actions in
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        if let pipe {
          posix_spawn_file_actions_adddup2(&actions, pipe.write, 1)
        } else {
          posix_spawn_file_actions_addopen(&actions, 1, target.path, target.flags, 0o644)
        }
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
      }
    } catch {
      if let pipe { close(pipe.read) }
      throw error
    }
    self.output = pipe?.read ?? -1
    guardian = Guardian(of: processID)
  }

  deinit {
    stop(SIGKILL)
    if output >= 0 { close(output) }
  }

  /// Sends a signal, unless the process has been waited for already.
  package func signal(_ number: Int32) {
    status.withLock { if $0 == nil { _ = Glibc.kill(processID, number) } }
  }

  /// Sends a signal and waits for the end. The exit code; 128 + the signal's number when one ended
  /// it.
  @discardableResult
  package func stop(_ number: Int32 = SIGTERM) -> Int32 {
    signal(number)
    return waitForExit()
  }

  @discardableResult
  package func waitForExit() -> Int32 {
    // Waits outside the lock, so that others may signal meanwhile; reaps inside, so that they never
    // signal a process id that has become another's.
    var information = siginfo_t()
    while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    return status.withLock { known in
      if let known { return known }
      var raw: Int32 = 0
      while waitpid(processID, &raw, 0) < 0, errno == EINTR {}
      guardian.dismiss()
      let code = raw & 0x7F == 0 ? (raw >> 8) & 0xFF : 128 + (raw & 0x7F)
      known = code
      return code
    }
  }

  /// Reads the output until a line contains `text`. What was read till then is in the error when
  /// the output ends or the time is over.
  package func waitForLine(containing text: String, timeout: Duration = .seconds(10)) throws {
    var read = ""
    let deadline = ContinuousClock.now + timeout
    while !read.contains(text) {
      let (seconds, attoseconds) = (deadline - ContinuousClock.now).components
      let left = seconds * 1000 + attoseconds / 1_000_000_000_000_000
      var watched = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard left > 0, poll(&watched, 1, Int32(clamping: left)) != 0 else {
        throw TestSupportError("no '\(text)' within \(timeout), but: \(read)")
      }
      guard let more = readSome() else {
        throw TestSupportError("ended without '\(text)', but: \(read)")
      }
      read += more
    }
  }

  package func readToEnd() -> String {
    var text = ""
    while let more = readSome() { text += more }
    return text
  }

  private func readSome() -> String? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = Glibc.read(output, &buffer, buffer.count)
      if count > 0 { return String(decoding: buffer[0..<count], as: UTF8.self) }
      if count == 0 || errno != EINTR { return nil }
    }
  }

  /// Runs a program to its end; its output, or an error when it does not exit with 0.
  package static func run(_ arguments: [String]) throws -> String {
    let process = try ChildProcess(arguments, output: .pipe)
    let text = process.readToEnd()
    let code = process.waitForExit()
    guard code == 0 else { throw TestSupportError("\(arguments) exited with \(code): \(text)") }
    return text
  }
}

/// Kills the child when this process ends without having done so: its stdin is a pipe that closes
/// then.
private final class Guardian: Sendable {
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

private enum Spawn {
  /// Between a pipe's making and its close-on-exec mark no child may start and inherit it.
  private static let exclusive = Mutex(())

  static func makePipe() throws -> (read: Int32, write: Int32) {
    try exclusive.withLock { _ in
      var ends: [Int32] = [-1, -1]
      guard Glibc.pipe(&ends) == 0 else { throw TestSupportError("no pipe: errno \(errno)") }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      return (ends[0], ends[1])
    }
  }

  static func start(
    _ arguments: [String], environment: [String: String] = [:],
    redirect: (inout posix_spawn_file_actions_t) -> Void
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    redirect(&actions)
    guard let program = arguments.first else { throw TestSupportError("no program named") }
    var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    var envp = inherited(environment)
    defer { for text in argv + envp { free(text) } }
    // The child starts with default signals, whatever the test runner has done to its own.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for number in [SIGPIPE, SIGTERM, SIGINT, SIGHUP] { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
    var processID: pid_t = 0
    let result = exclusive.withLock { _ in
      posix_spawnp(&processID, program, &actions, &attributes, &argv, &envp)
    }
    guard result == 0 else {
      throw TestSupportError("\(program) does not start: errno \(result)")
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
