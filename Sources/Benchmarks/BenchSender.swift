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

  package enum Work: String, CaseIterable, Sendable {
    case apns, fcm, webpush
    /// Of Web Push the cryptography alone: nothing is sent.
    case encryption
  }

  /// The work of a process.
  package struct Order: Sendable {
    package let work: Work
    package let secrets: WebPushTraffic.Secrets
    package let pushes: Int
    /// The line that the simulator printed when it was ready.
    package let readyFile: String

    package init(
      _ work: Work, secrets: WebPushTraffic.Secrets = .cached, pushes: Int, readyFile: String
    ) {
      self.work = work
      self.secrets = secrets
      self.pushes = pushes
      self.readyFile = readyFile
    }

    fileprivate var command: [String] {
      [
        Executable.own, verb, "--work", work.rawValue, "--secrets", secrets.rawValue,
        "--simulator", readyFile, "--pushes", "\(pushes)",
      ]
    }
  }

  // MARK: the bench

  /// Starts a sender and waits for its end. All pushes must be accepted.
  static func measure(
    _ order: Order, _ processes: ChildProcesses
  ) async throws(LocalRunError) -> LoadGenerator.Process {
    let process = try processes.start("sender", order.command, isNeeded: false, isGuarded: false)
    let ending = try await processes.finish(process, within: .seconds(300))
    let output = ScratchDirectory.read(process.outputFile) ?? ""
    let report = try JSONReport(Array(output.utf8), of: "the sender")
    let accepted = try report.integer("accepted")
    guard accepted == order.pushes else {
      throw LocalRunError(
        .failed,
        "of the sender's \(Figures.grouped(order.pushes)) pushes \(Figures.grouped(accepted)) were "
          + "accepted")
    }
    let seconds = Double(try report.integer("elapsed_us")) / 1e6
    return LoadGenerator.Process(
      requests: order.pushes, cpuMicroseconds: ending.cpuMicroseconds,
      requestsPerSecond: Double(order.pushes) / seconds, succeeded: accepted)
  }

  // MARK: the sender

  package static func run(_ order: Order) async throws(LocalRunError) -> JSONOutput {
    let file = order.readyFile
    let ready = try JSONReport(Array((ScratchDirectory.read(file) ?? "").utf8), of: file)
    return try await EventLoop.temporary("bench-sender") {
      (_: isolated LoopActor, loop: EventLoop) async throws(LocalRunError) -> JSONOutput in
      switch order.work {
      case .apns:
        let simulator = try SimulatorProcess(.apns, ready: ready, readyFile: file, loop: loop)
        let account = APNsCredentials.key(try BenchTraffic.providerTokens(simulator))
        return try await send(
          try BenchTraffic.traffic(), order.pushes, to: .production,
          RouteTarget(endpoint: simulator.endpoint, tls: simulator.trust),
          AppCredentials(account), loop)
      case .fcm:
        let simulator = try SimulatorProcess(.fcm, ready: ready, readyFile: file, loop: loop)
        let tokens = try FCMTraffic.tokens(simulator, randomNumber: loop.randomNumber())
        _ = try await FCMTraffic.firstToken(of: tokens, on: loop)
        return try await send(
          try FCMTraffic.traffic(), order.pushes, to: .fcm,
          RouteTarget(endpoint: simulator.endpoint, tls: simulator.trust),
          AppCredentials(try FCMTraffic.account(simulator, tokens)), loop)
      case .webpush:
        let key = (0..<32).map { _ in UInt8(truncatingIfNeeded: loop.randomNumber()) }
        let services = try WebPushTraffic.services(order.secrets, privateKey: key)
        return try await send(
          try WebPushTraffic.traffic(), order.pushes, to: .webpush,
          try WebPushTraffic.target(ready), AppCredentials(services), loop)
      case .encryption:
        let nanoseconds = try WebPushTraffic.encrypt(order.pushes, order.secrets)
        return report(order.pushes, accepted: order.pushes, nanoseconds: nanoseconds)
      }
    }
  }

  private static func send(
    _ traffic: SenderTraffic, _ count: Int, to destination: Destination, _ target: RouteTarget,
    _ credentials: AppCredentials, _ loop: EventLoop
  ) async throws(LocalRunError) -> JSONOutput {
    var options = DeliverOptions(wallClock: { WallClock.nowMilliseconds() })
    options.routes[destination] = target
    options.connectionsPerRoute = BenchTraffic.connections
    options.streamsPerConnection = BenchTraffic.streamsPerConnection
    // Nothing leaves its segment here, however long connecting takes under a profiler.
    options.closedAfter = .seconds(30)
    let deliver = DeliverStage(
      options: options, credentials: credentials, loop: loop,
      randomNumber: { loop.randomNumber() })
    let startedAt = loop.clock
    deliver.start()
    var batches = SenderBatches(
      traffic, total: count,
      expiresAt: WallClock.nowMilliseconds() + BenchTraffic.expirySeconds * 1_000)
    let gate = SettlementGate()
    while let batch = batches.nextBatch() {
      gate.watch(batch)
      batch.seal()
      await deliver.admit(batch)
    }
    await gate.allSettled()
    let elapsed = loop.clock - startedAt
    deliver.stop()
    return report(count, accepted: batches.tally.accepted, nanoseconds: elapsed)
  }

  private static func report(_ count: Int, accepted: Int, nanoseconds: UInt64) -> JSONOutput {
    [
      "pushes": .integer(count), "accepted": .integer(accepted),
      "elapsed_us": .integer(Int(nanoseconds / 1_000)),
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
