import Benchmarks
import Processes
import Terminal
import VerbSupport

/// Hidden: the sending path alone, as a process of its own whose CPU time is taken from the system.
package enum BenchSenderVerb {
  private static let simulator = Option(
    required: "simulator", .path, value: "FILE",
    help: "What the simulator printed when it was ready")
  private static let pushes = Option(
    required: "pushes", .integer(in: 1...99_999_999), help: "Pushes to send")

  package static let verb = Verb(
    BenchSender.verb, summary: "Send pushes that are made on the way to a simulator",
    options: [simulator, pushes], isHidden: true, handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let file = invocation[simulator]
    let pushes = invocation[pushes]
    let result = try await CommandFailure.from { () async throws(LocalRunError) in
      try await BenchSender.run(pushes, simulatorReady: file)
    }
    invocation.output.line(result.serialized())
    return .ok
  }
}
