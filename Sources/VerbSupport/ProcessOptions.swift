import CLinux
import Terminal

/// For verbs that others start as a child.
package enum ProcessOptions {
  package static let dieWithParent = Option(
    flag: "die-with-parent",
    help: "End (SIGTERM) when the thread that started this process ends", isHidden: true)

  /// For a process that runs for long: what a moment's peak took goes back to the system.
  package static func giveBackLargeMemory() { linux_give_back_large_memory() }
}

extension Invocation {
  /// To be called first by a verb that takes `--die-with-parent`. The kernel watches the thread
  /// that started the child, not its process: start children from a thread that lives on.
  package func obeyParent() {
    if self[ProcessOptions.dieWithParent] { _ = linux_signal_on_parent_death(SIGTERM) }
  }
}
