import APNs
import Deliver
import EventLoop
import Model
import Processes
import ServerProcesses
import Telemetry
import Terminal

/// One lane with Deliver in it, and pushes that come from nowhere: what a bench runs as a process
/// of its own.
package enum BenchSender {
  /// The hidden verb that runs it.
  package static let verb = "bench-sender"

  /// - Parameter simulatorReady: a file with what the simulator printed when it was ready.
  package static func run(
    _ count: Int, simulatorReady file: String
  ) async throws(LocalRunError) -> JSONOutput {
    let ready = try JSONReport(Array((ScratchDirectory.read(file) ?? "").utf8), of: file)
    return try await EventLoop.temporary("bench-sender") {
      (_: isolated LoopActor, loop: EventLoop) async throws(LocalRunError) -> JSONOutput in
      let simulator = try SimulatorProcess(ready: ready, readyFile: file, loop: loop)
      return try await send(count, to: simulator, loop)
    }
  }

  private static func send(
    _ count: Int, to simulator: SimulatorProcess, _ loop: EventLoop
  ) async throws(LocalRunError) -> JSONOutput {
    var options = DeliverOptions(wallClock: { WallClock.nowMilliseconds() })
    options.routes[.production] = APNsRoute(endpoint: simulator.endpoint, tls: simulator.trust)
    options.connectionsPerRoute = BenchTraffic.connections
    options.streamsPerConnection = BenchTraffic.streamsPerConnection
    // Nothing leaves its segment here, however long connecting takes under a profiler.
    options.closedAfter = .seconds(30)
    let tokens = try BenchTraffic.providerTokens(simulator)
    let deliver = DeliverStage(
      options: options, credentials: AppCredentials(APNsCredentials.key(tokens)), loop: loop,
      randomNumber: { loop.randomNumber() })
    let startedAt = loop.clock
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
    let elapsed = loop.clock - startedAt
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
