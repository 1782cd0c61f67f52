import CLinux
import Glibc
import Terminal

/// For verbs that others start as a child.
package enum ProcessOptions {
  package static let dieWithParent = Option(
    flag: "die-with-parent",
    help: "End (SIGTERM) when the thread that started this process ends", isHidden: true)

  /// For a process that runs for long: what a moment's peak took goes back to the system.
  package static func giveBackLargeMemory() { linux_give_back_large_memory() }

  /// Opens standard descriptors that the parent process has closed: the first connection would be
  /// standard output then, and get what is printed.
  package static func fillStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest that is free, which is this one.
      _ = open("/dev/null", O_RDWR)
    }
  }

  /// The usual limit of 1,024 is for programs that use select(2), which cannot count further: none
  /// of ours does. A server that ends connections quickly takes some hundred of them.
  /// - Returns: how many file descriptors the process may have.
  @discardableResult
  package static func raiseDescriptorLimit() -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 0 }
    let wanted = min(limit.rlim_max, 65_536)
    if limit.rlim_cur < wanted {
      var raised = rlimit(rlim_cur: wanted, rlim_max: limit.rlim_max)
      if setrlimit(resource, &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
  }
}

extension Invocation {
  /// To be called first by a verb that takes `--die-with-parent`. The kernel watches the thread
  /// that started the child, not its process: start children from a thread that lives on.
  package func obeyParent() {
    if self[ProcessOptions.dieWithParent] { _ = linux_signal_on_parent_death(SIGTERM) }
  }
}
