import Benchmarks
import Processes
import Terminal
import VerbSupport

/// Hidden: the sending path alone, as a process of its own whose CPU time is taken from the system.
package enum BenchSenderVerb {
  private static let work = Option(
    "work", .choice(), default: BenchSender.Work.apns, help: "Where pushes go")
  private static let secrets = Option(
    "secrets", .choice(), default: WebPushTraffic.Secrets.cached,
    help: "How the secrets of Web Push are had")
  private static let simulator = Option(
    required: "simulator", .path, value: "FILE",
    help: "What the simulator printed when it was ready")
  private static let pushes = Option(
    required: "pushes", .integer(in: 1...99_999_999), help: "Pushes to send")

  package static let verb = Verb(
    BenchSender.verb, summary: "Send pushes that are made on the way to a simulator",
    options: [work, secrets, simulator, pushes], isHidden: true, handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let order = BenchSender.Order(
      invocation[work], secrets: invocation[secrets], pushes: invocation[pushes],
      readyFile: invocation[simulator])
    let result = try await CommandFailure.from { () async throws(LocalRunError) in
      try await BenchSender.run(order)
    }
    invocation.output.line(result.serialized())
    return .ok
  }
}
