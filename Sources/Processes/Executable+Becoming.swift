import CLinux
import Glibc

extension Executable {
  /// Makes this process another program that dies with `parent`, whatever ends that one. Returns
  /// only when it could not: `.failed` without the parent, `.unavailable` without the program.
  package static func become(_ command: [String], dyingWith parent: Int32) -> LocalRunError {
    // The kernel watches the thread that started us; its owner starts children from one that lives
    // on.
    guard linux_signal_on_parent_death(SIGKILL) == 0, getppid() == parent else {
      return LocalRunError(.failed, "the parent is gone")
    }
    var arguments = arguments(command)
    // Console.ignoreBrokenPipes is inherited through exec.
    signal(SIGPIPE, SIG_DFL)
    execv(command[0], &arguments)
    let reason = String(cString: strerror(errno))
    for argument in arguments { free(argument) }
    return LocalRunError(.unavailable, "\(command[0]): \(reason)")
  }
}
