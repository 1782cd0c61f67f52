import Glibc
import Text
import Threads

/// The end of a program that was run for its output.
package enum CommandOutput: Sendable, Equatable {
  /// It exited with 0: its standard output.
  case output([UInt8])
  /// Why there is no output, in words.
  /// - Parameter said: the first line of its standard error; empty where it wrote none. It may hold
  ///   secrets.
  case failed(String, said: String)

  /// Of its first line of standard error.
  private static let maximumErrorBytes = 1_024
  /// How often a program's end is looked for while it writes nothing.
  private static let lookInterval: Int64 = 50

  /// Runs a program, which is looked up in PATH, with this process's environment and an empty
  /// standard input. It has ended when this returns: it is killed, with its process group, when its
  /// time is over or it writes too much.
  /// - Parameters:
  ///   - arguments: the program and its arguments; no shell reads them.
  ///   - maximumBytes: of its standard output.
  ///   - timeout: from its start to its end.
  package static func of(
    _ arguments: [String], maximumBytes: Int, timeout: Duration
  ) async -> CommandOutput {
    await withCheckedContinuation { continuation in
      let thread = SystemThread {
        continuation.resume(
          returning: run(arguments, maximumBytes: maximumBytes, timeout: timeout))
      }
      guard let thread else {
        return continuation.resume(returning: .failed("there is no thread left", said: ""))
      }
      thread.detach()
    }
  }

  private static func run(
    _ arguments: [String], maximumBytes: Int, timeout: Duration
  ) -> CommandOutput {
    let deadline = ContinuousClock.now + timeout
    let child: RunningCommand
    do {
      child = try RunningCommand(arguments)
    } catch {
      return .failed(error.message, said: "")
    }
    var output: [UInt8] = []
    var errors: [UInt8] = []
    while true {
      let left = (deadline - ContinuousClock.now).wholeMilliseconds
      guard left > 0 else {
        child.kill()
        return .failed("no end within \(DurationText.text(timeout))", said: firstLine(errors))
      }
      // A process that it has started may hold the pipes open when it has ended.
      let hasEnded = child.hasEnded
      let hasMore = child.read(
        &output, &errors, waiting: hasEnded ? 0 : min(left, lookInterval))
      errors.removeLast(max(0, errors.count - maximumErrorBytes))
      guard output.count <= maximumBytes else {
        child.kill()
        return .failed("writes more than \(maximumBytes) bytes", said: firstLine(errors))
      }
      if hasEnded, !hasMore { break }
    }
    let ending = child.reap()
    return ending == nil ? .output(output) : .failed(ending ?? "", said: firstLine(errors))
  }

  private static func firstLine(_ bytes: [UInt8]) -> String {
    let line = bytes.drop { $0 == 0x0A || $0 == 0x0D || $0 == 0x20 }
      .prefix { $0 != 0x0A && $0 != 0x0D }
    return String(decoding: line, as: UTF8.self)
  }
}

/// A program that runs with its output and its errors in pipes, in a process group of its own.
/// Confined to its thread.
private final class RunningCommand {
  private let processID: pid_t
  private let pipes: [Int32]
  private var openPipes: [Bool] = [true, true]

  init(_ arguments: [String]) throws(LocalRunError) {
    let output = try Spawn.makePipe()
    let errors: (read: Int32, write: Int32)
    do throws(LocalRunError) {
      errors = try Spawn.makePipe()
    } catch {
      close(output.read)
      close(output.write)
      throw error
    }
    defer {
      close(output.write)
      close(errors.write)
    }
    pipes = [output.read, errors.read]
    do throws(LocalRunError) {
      processID = try Spawn.start(arguments, leadsGroup: true) { actions in
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output.write, 1)
        posix_spawn_file_actions_adddup2(&actions, errors.write, 2)
      }
    } catch {
      for pipe in pipes { close(pipe) }
      throw error
    }
  }

  deinit { for pipe in pipes { close(pipe) } }

  /// Looks, and does not wait. Its process id stays its own until `reap`.
  var hasEnded: Bool {
    var information = siginfo_t()
    let flags = WEXITED | WNOWAIT | WNOHANG
    return waitid(P_PID, id_t(processID), &information, flags) == 0
      && information.si_signo == SIGCHLD
  }

  /// Waits for its end.
  /// - Returns: nil where it exited with 0; else how it ended, in words.
  @discardableResult
  func reap() -> String? {
    var raw: Int32 = 0
    while waitpid(processID, &raw, 0) < 0, errno == EINTR {}
    if raw == 0 { return nil }
    return raw & 0x7F == 0 ? "exit code \((raw >> 8) & 0xFF)" : "signal \(raw & 0x7F)"
  }

  /// Kills it, with what it has started in its group.
  func kill() {
    _ = Glibc.kill(-processID, SIGKILL)
    reap()
  }

  /// Adds what there is, 64 KiB of each at most.
  /// - Parameter milliseconds: to wait for it.
  /// - Returns: whether there may be more.
  func read(_ output: inout [UInt8], _ errors: inout [UInt8], waiting milliseconds: Int64) -> Bool {
    var watched = pipes.indices.filter { openPipes[$0] }.map {
      pollfd(fd: pipes[$0], events: Int16(POLLIN), revents: 0)
    }
    guard !watched.isEmpty else {
      // It has closed both and runs on.
      poll(nil, 0, Int32(clamping: milliseconds))
      return false
    }
    let found = poll(&watched, nfds_t(watched.count), Int32(clamping: milliseconds))
    guard found > 0 else { return found < 0 }
    for ready in watched where ready.revents != 0 {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      let count = Glibc.read(ready.fd, &buffer, buffer.count)
      if count > 0 {
        if ready.fd == pipes[0] { output += buffer[..<count] } else { errors += buffer[..<count] }
      } else if count == 0 || errno != EINTR {
        openPipes[ready.fd == pipes[0] ? 0 : 1] = false
      }
    }
    return true
  }
}
