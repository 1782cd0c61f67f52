import CLinux
import Terminal

enum ProcessEnvironment {
  /// The variables of this process; of a name that stands twice, the first.
  static var all: [String: String] {
    var variables: [String: String] = [:]
    guard var entry = linux_environment() else { return variables }
    while let text = entry.pointee {
      let sides = String(cString: text).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if sides.count == 2, variables[String(sides[0])] == nil {
        variables[String(sides[0])] = String(sides[1])
      }
      entry += 1
    }
    return variables
  }
}

/// For verbs that others start as a child.
enum ProcessOptions {
  static let dieWithParent = Option(
    flag: "die-with-parent",
    help: "End (SIGTERM) when the thread that started this process ends", isHidden: true)
}

extension Invocation {
  /// To be called first by a verb that takes `--die-with-parent`. The kernel watches the thread
  /// that started the child, not its process: start children from a thread that lives on.
  func obeyParent() {
    if self[ProcessOptions.dieWithParent] { _ = linux_signal_on_parent_death(SIGTERM) }
  }
}
