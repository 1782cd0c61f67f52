import Deliver
import EventLoop
import Glibc
import Model
import Telemetry
import Terminal

/// The sending path alone, as a process of its own whose CPU time is taken from the system: one
/// lane with Deliver in it, and pushes that come from nowhere.
enum BenchSenderVerb {
  private static let simulator = Option(
    required: "simulator", .path, value: "FILE",
    help: "What the simulator printed when it was ready")
  private static let pushes = Option(
    required: "pushes", .integer(in: 1...99_999_999), help: "Pushes to send")

  static let verb = Verb(
    "bench-sender", summary: "Send pushes that are made on the way to a simulator",
    options: [simulator, pushes], isHidden: true
  ) { invocation in
    await invocation.reporting { () async throws(CommandFailure) in
      let file = invocation[simulator]
      let pushes = invocation[pushes]
      let text = ScratchDirectory.read(file) ?? ""
      let ready = try Report(Array(text.utf8), of: file)
      let result = try await CommandLoop.run {
        (_: isolated LoopActor, loop: EventLoop) async throws(CommandFailure) -> JSONOutput in
        try await send(
          pushes, to: SimulatorProcess(ready: ready, readyFile: file, loop: loop), loop)
      }
      invocation.output.line(result.serialized())
      return .ok
    }
  }

  private static func send(
    _ count: Int, to simulator: SimulatorProcess, _ loop: EventLoop
  ) async throws(CommandFailure) -> JSONOutput {
    var options = DeliverOptions(wallClock: { WallClock.nowMilliseconds() })
    options.routes[.production] = APNsRoute(endpoint: simulator.endpoint, tls: simulator.trust)
    options.connectionsPerRoute = BenchTraffic.connections
    options.streamsPerConnection = BenchTraffic.streamsPerConnection
    let deliver = DeliverStage(
      options: options, tokens: try BenchTraffic.providerTokens(simulator), loop: loop)
    let startedAt = EventLoop.monotonicNanoseconds()
    deliver.start()
    var batches = SenderBatches(
      total: count,
      expiresAt: WallClock.nowMilliseconds() + BenchTraffic.expirySeconds * 1_000)
    let gate = SettlementGate()
    while let batch = batches.next() {
      gate.watch(batch)
      batch.seal()
      await deliver.admit(batch)
    }
    await gate.allSettled()
    let elapsed = EventLoop.monotonicNanoseconds() - startedAt
    deliver.stop()
    return [
      "pushes": .integer(count), "accepted": .integer(batches.tally.accepted),
      "elapsed_us": .integer(Int(elapsed / 1_000)),
    ]
  }
}

/// Waits for the last batch to be settled. Confined to one loop.
private final class SettlementGate {
  private var open = 0
  private var waiting: CheckedContinuation<Void, Never>?

  func watch(_ batch: PushBatch) {
    open += 1
    batch.whenSettled = { [unowned self] in
      open -= 1
      if open == 0 {
        waiting?.resume()
        waiting = nil
      }
    }
  }

  func allSettled() async {
    if open > 0 { await withCheckedContinuation { waiting = $0 } }
  }
}
