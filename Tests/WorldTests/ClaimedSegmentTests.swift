import APNsSimulator
import Pipeline
import Telemetry
import Testing
import World

/// A segment that takes its time under a claim that does not.
@Suite struct ClaimedSegmentTests {
  /// Sixty pushes, one after the other, 100 ms each.
  private static func live(_ body: (WorldHarness) throws -> Void) throws {
    var script = SimulatorScript()
    script.latency = .milliseconds(100)
    try WorldHarness.live(script: script) { harness in
      harness.follow("s1", tokens: (0..<60).map { paddedHex($0) })
      try body(harness)
    }
  }

  private static func slowly(_ options: inout PipelineOptions) {
    options.lanes = 1
    options.deliver.connectionsPerRoute = 1
    options.deliver.streamsPerConnection = 1
    options.claimLifetime = .seconds(3)
    options.heartbeatInterval = .milliseconds(100)
  }

  private static func sent(_ harness: WorldHarness, _ count: Int) throws {
    _ = try harness.until("\(count) are sent") {
      harness.summary.accepted >= count ? true : nil
    }
  }

  @Test func aClaimIsRenewedAsLongAsItTakes() throws {
    try Self.live { harness in
      let worker = try harness.startWorker(Self.slowly)
      harness.emit("e1")
      let status = try harness.finished("e1")
      #expect(status.accepted == 60 && status.isBalanced)
      // What may not be sent would leave as stragglers.
      #expect(status.stragglers == 0)
      #expect(harness.summary.duplicates == 0)
      #expect(!harness.lines.contains { $0.contains("another worker has the segment") })
      #expect(harness.redis("HLEN", "ff:{e:e1}:claims") == "0")
      #expect(harness.stop(worker))
    }
  }

  @Test func aSegmentThatAnotherWorkerHasIsLeftToIt() throws {
    try Self.live { harness in
      let worker = try harness.startWorker(Self.slowly)
      harness.emit("e1")
      try Self.sent(harness, 5)
      let segment = harness.redis("HKEYS", "ff:{e:e1}:claims")
      let end = harness.now + 300_000
      harness.redis("HSET", "ff:{e:e1}:claims", segment, "worker-9/x/0.1 \(end)")
      _ = try harness.until("the record is put aside") {
        harness.redis("HGET", "ff:worker:worker-1", "records_aside") == "1" ? true : nil
      }
      #expect(harness.lines.contains { $0.contains("another worker has the segment") })
      let before = harness.summary.accepted
      #expect(before < 60)
      #expect(harness.status("e1")?.settled == 0)
      // The other one is gone, and all is sent again: what it did is not known here.
      harness.redis("HDEL", "ff:{e:e1}:claims", segment)
      let status = try harness.finished("e1")
      #expect(status.accepted == 60 && status.settled == 1 && status.isBalanced)
      #expect(harness.summary.accepted == 60 + before)
      #expect(harness.stop(worker))
    }
  }

  /// Its owner died long ago.
  @Test func aTakeoverIsToldOf() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let worker = try harness.startWorker()
      harness.emit("e1")
      _ = try harness.finished("e1")
      let segment = harness.redis("SMEMBERS", "ff:{e:e1}:settled")
      harness.redis("HSET", "ff:{e:e2}:claims", segment, "worker-9/x/0.1 77")
      harness.emit("e2")
      #expect(try harness.finished("e2").accepted == 1)
      let metrics = harness.metrics(worker)
      #expect(metrics.contains("\nfanfare_claims_taken_over_total 1\n"))
      #expect(harness.stop(worker))
      let told = harness.lines.filter { $0.contains("took over a segment") }
      #expect(told.count == 1 && told.allSatisfy { $0.contains("from=worker-9/x/0.1") })
      #expect(told.allSatisfy { $0.contains("event=e2") })
    }
  }

  /// Its event expires while another worker has the claim, and that one is gone: what it had sent
  /// nobody knows.
  @Test func whatExpiresUnderAnothersClaimIsCounted() throws {
    try Self.live { harness in
      let name = "1.0"
      let worker = try harness.startWorker(Self.slowly)
      try harness.ready()
      let end = harness.now + 8000
      harness.redis("HSET", "ff:{e:e1}:claims", name, "worker-9/x/0.1 \(end)")
      harness.emit("e1", expiresIn: 3)
      let status = try harness.finished("e1")
      #expect(status.state == .done && status.settled == 1)
      #expect(status.rejected == ["Unanswered": 60] && status.expired == 0)
      #expect(status.pushes == 60 && status.isBalanced)
      #expect(harness.summary.requests == 0)
      #expect(harness.stop(worker))
    }
  }

  @Test func aWorkerThatStopsKeepsNobodyWaiting() throws {
    try Self.live { harness in
      let first = try harness.startWorker {
        Self.slowly(&$0)
        $0.claimLifetime = .seconds(600)
        $0.drainTimeout = .zero
      }
      harness.emit("e1")
      try Self.sent(harness, 5)
      let isDone = harness.stop(first)
      #expect(!isDone)
      // Of what may have been sent the name stays, with a claim that nobody waits for.
      let claims = harness.redis("HVALS", "ff:{e:e1}:claims").split(separator: "\n")
      #expect(claims.count == 1 && claims.allSatisfy { $0.hasSuffix(" 0") }, "\(claims)")
      let second = try harness.startWorker("worker-2")
      #expect(try harness.finished("e1").accepted == 60)
      #expect(harness.stop(second))
    }
  }
}
