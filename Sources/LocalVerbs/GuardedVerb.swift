import Processes
import Terminal

/// Hidden: becomes another program that dies with whoever started it. The demo and the bench run
/// their servers under it, so that not even `kill -9` on them leaves a process behind.
package enum GuardedVerb {
  private static let parent = Option(
    required: "parent", .integer(in: 1...Int(Int32.max)), help: "The process to die with")
  private static let command = Argument(
    rest: "command", .text, minimum: 1, help: "The program's path and its arguments")

  package static let verb = Verb(
    Executable.guardedVerb, summary: "Become a program that dies with its parent",
    options: [parent], arguments: [command], isHidden: true
  ) { invocation in
    let failure = Executable.become(invocation[command], dyingWith: Int32(invocation[parent]))
    invocation.complain("guarded: \(failure.message)")
    return failure.kind == .failed ? .failed : .unavailable
  }
}
