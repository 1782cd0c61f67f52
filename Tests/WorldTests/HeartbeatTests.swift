import APNsSimulator
import Pipeline
import Telemetry
import Testing
import World

/// What a worker says of itself, field by field.
@Suite struct HeartbeatTests {
  private static func live(
    _ answer: SimulatedAnswer, _ body: (WorldHarness) throws -> Void
  ) throws {
    var script = SimulatorScript()
    script.rules = [.init(steps: [.init(answer)])]
    try WorldHarness.live(script: script, body)
  }

  private static func field(_ harness: WorldHarness, _ name: String) throws -> String {
    harness.redis("HGET", "ff:worker:worker-1", name)
  }

  @Test func credentialsThatAreRefusedAreNamed() throws {
    let refusal = Refusal(status: 403, reason: "InvalidProviderToken")
    try Self.live(.refuse(refusal)) { harness in
      harness.follow("s1", tokens: (0..<20).map { paddedHex($0) })
      let worker = try harness.startWorker {
        $0.heartbeatInterval = .milliseconds(50)
        $0.drainTimeout = .zero
      }
      harness.emit("e1")
      let held = try harness.until("it is said") {
        let text = try Self.field(harness, "held_routes")
        return text.isEmpty ? nil : text
      }
      #expect(held.contains("production") && held.contains("InvalidProviderToken"))
      #expect(held.contains(WorldHarness.app))
      _ = harness.stop(worker)
    }
  }

  /// Each overwrites what the other says of itself. A restart is no namesake.
  @Test func aSecondWorkerOfTheSameIdIsNoticed() throws {
    try WorldHarness.live { harness in
      let said = "another worker has the same id"
      func start() throws -> WorldWorker {
        try harness.startWorker { $0.heartbeatInterval = .milliseconds(50) }
      }
      func beats(_ worker: WorldWorker) throws {
        let first = try Self.field(harness, "beat_ms")
        for _ in 0..<2 {
          _ = try harness.until("it beats") {
            try Self.field(harness, "beat_ms") != first ? true : nil
          }
        }
      }
      let first = try start()
      try beats(first)
      #expect(harness.stop(first))
      let second = try start()
      try beats(second)
      #expect(!harness.lines.contains { $0.contains(said) })
      let third = try start()
      _ = try harness.until("both say so") {
        harness.lines.count { $0.contains(said) } >= 2 ? true : nil
      }
      try beats(third)
      // Each once a minute.
      #expect(harness.lines.count { $0.contains(said) } == 2)
      #expect(harness.stop(third))
      #expect(harness.stop(second))
    }
  }

  /// The worker's own counters are the event's.
  @Test func countersAreThoseOfItsEvents() throws {
    try WorldHarness.live { harness in
      let magic = ["0410", "0413", "1503"].map { code in
        let start = MagicTokens.prefix + code
        return start + String(repeating: "e", count: 64 - start.count)
      }
      harness.follow("s1", tokens: magic + (0..<9).map { paddedHex($0) })
      harness.redis("HSET", "ffd:{u:s1-u11}:profile", "muted", "1")
      let worker = try harness.startWorker()
      harness.emit("e1")
      let status = try harness.finished("e1")
      #expect(status.accepted == 9 && status.suppressed == 1 && status.retried == 1)
      #expect(status.rejected == ["Unregistered": 1, "PayloadTooLarge": 1] && status.pruned == 1)
      #expect(harness.stop(worker))
      let counters = worker.counters.snapshot()
      #expect(counters[.eventsOK] == 1 && counters[.segmentsSettled] == 1)
      #expect(counters[.recipients] == status.recipients && counters.pushes == status.pushes)
      #expect(counters[.pushesAccepted] == 9 && counters[.pushesSuppressed] == 1)
      #expect(counters[.pushesRejected] == 2 && counters[.retries] == 1)
      #expect(counters[.tokensPruned] == 1)
    }
  }
}
