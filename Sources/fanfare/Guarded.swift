import CLinux
import Glibc
import LocalStack
import Terminal

/// Becomes another program that dies with whoever started it: what the demo and the bench run
/// their servers under, so that not even `kill -9` on them leaves a process behind.
enum GuardedVerb {
  private static let parent = Option(
    required: "parent", .integer(in: 1...Int(pid_t.max)), help: "The process to die with")
  private static let command = Argument(
    rest: "command", .text, minimum: 1, help: "The program's path and its arguments")

  static let verb = Verb(
    Executable.guardedVerb, summary: "Become a program that dies with its parent",
    options: [parent], arguments: [command], isHidden: true
  ) { invocation in
    // The kernel watches the thread that started us; its owner starts children from one that lives
    // on.
    guard linux_signal_on_parent_death(SIGKILL) == 0, getppid() == pid_t(invocation[parent]) else {
      invocation.complain("guarded: the parent is gone")
      return .failed
    }
    let command = invocation[command]
    var arguments = Executable.arguments(command)
    // Console.ignoreBrokenPipes is inherited through exec.
    signal(SIGPIPE, SIG_DFL)
    execv(command[0], &arguments)
    invocation.complain("guarded: \(command[0]): \(String(cString: strerror(errno)))")
    return .unavailable
  }
}
