import APNs
import Deliver
import EventLoop
import LocalStack
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
      let simulator = try SimulatorProcess(.apns, ready: ready, readyFile: file, loop: loop)
      return try await send(count, to: simulator, loop)
    }
  }

  private static func send(
    _ count: Int, to simulator: SimulatorProcess, _ loop: EventLoop
  ) async throws(LocalRunError) -> JSONOutput {
    var options = DeliverOptions(wallClock: { WallClock.nowMilliseconds() })
    options.routes[.production] = RouteTarget(endpoint: simulator.endpoint, tls: simulator.trust)
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

/// Batches of pushes with distinct tokens and distinct payloads, made one after the other while
/// they are sent. Making them costs a few percent of sending them, and is counted with it.
package struct SenderBatches {
  package static let batchPushes = 512

  package let tally = SegmentTally()
  private let headers: PushHeaders
  private let page = RecipientPage(fieldNames: [])
  private let total: Int
  private var made = 0

  package init(total: Int, expiresAt: Int64) {
    self.total = total
    headers = PushHeaders(
      pushType: .alert, priority: BenchTraffic.priority, topic: LocalStack.app,
      collapseID: BenchTraffic.collapseID, expiration: expiresAt / 1_000, expiresAt: expiresAt)
    let member = "apns:production:\(LocalStack.app):\(BenchTraffic.token(0))"
    for index in 0..<Self.batchPushes {
      let user = page.bytes.append(utf8: "u00000000")
      let slice = page.bytes.append(utf8: member)
      page.recipients.append(
        RecipientPage.Recipient(user: user, firstBinding: index, bindingCount: 1))
      page.bindings.append(
        RecipientPage.Binding(
          member: slice, token: slice.last(BenchTraffic.tokenDigits), destination: .production))
    }
  }

  /// The next batch, sealed; nil when all have been made.
  package mutating func next() -> PushBatch? {
    guard made < total else { return nil }
    let batch = PushBatch(event: "bench", headers: headers, tally: tally)
    for index in 0..<min(Self.batchPushes, total - made) {
      let binding = page.bindings[index]
      let tokenEnd =
        Int(binding.token.offset) + BenchTraffic.tokenDigits - BenchTraffic.distinctDigits
      Self.writeHex(BenchTraffic.tokenEnd(made), to: page.bytes.base + tokenEnd)
      let payload = batch.bytes.append(BenchTraffic.payload)
      let number = Int(payload.offset) + BenchTraffic.numberOffset
      Self.writeDecimal(made, to: batch.bytes.base + number)
      batch.append(recipient: page.recipients[index], binding: binding, of: page, payload: payload)
      made += 1
    }
    tally.pushes = made
    return batch
  }

  private static func writeHex(_ value: UInt64, to target: UnsafeMutableRawPointer) {
    for place in 0..<BenchTraffic.distinctDigits {
      let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * place)).lastHexDigit
      target.storeBytes(of: digit, toByteOffset: place, as: UInt8.self)
    }
  }

  private static func writeDecimal(_ value: Int, to target: UnsafeMutableRawPointer) {
    var rest = value
    for place in stride(from: BenchTraffic.numberDigits - 1, through: 0, by: -1) {
      target.storeBytes(
        of: 0x30 + UInt8(truncatingIfNeeded: rest % 10), toByteOffset: place, as: UInt8.self)
      rest /= 10
    }
  }
}
