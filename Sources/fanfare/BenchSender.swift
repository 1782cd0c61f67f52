import Benchmarks
import EventLoop
import LocalStack
import Terminal

/// The sending path alone, as a process of its own whose CPU time is taken from the system.
enum BenchSenderVerb {
  private static let simulator = Option(
    required: "simulator", .path, value: "FILE",
    help: "What the simulator printed when it was ready")
  private static let pushes = Option(
    required: "pushes", .integer(in: 1...99_999_999), help: "Pushes to send")

  static let verb = Verb(
    BenchSender.verb, summary: "Send pushes that are made on the way to a simulator",
    options: [simulator, pushes], isHidden: true
  ) { invocation in
    await invocation.reporting { () async throws(CommandFailure) in
      let file = invocation[simulator]
      let pushes = invocation[pushes]
      let result = try await CommandFailure.from { () async throws(LocalStackError) in
        let ready = try JSONReport(Array((ScratchDirectory.read(file) ?? "").utf8), of: file)
        return try await EventLoop.temporary("command") {
          (_: isolated LoopActor, loop: EventLoop) async throws(LocalStackError) -> JSONOutput in
          let simulator = try SimulatorProcess(ready: ready, readyFile: file, loop: loop)
          return try await BenchSender.send(pushes, to: simulator, loop)
        }
      }
      invocation.output.line(result.serialized())
      return .ok
    }
  }
}
