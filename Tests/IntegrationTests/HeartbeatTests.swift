import APNsSimulator
import Pipeline
import Telemetry
import TestBed
import Testing

/// What a worker says of itself, field by field.
@Suite(.serialized) struct HeartbeatTests {
  private static func bed(_ answer: SimulatedAnswer) async throws -> WorkerBed {
    var script = SimulatorScript()
    script.rules = [.init(steps: [.init(answer)])]
    return try await WorkerBed(script: script)
  }

  private static func field(_ bed: WorkerBed, _ name: String) throws -> String {
    try bed.redis.cli("HGET", "ff:worker:worker-1", name)
  }

  @Test func aWorkerThatWaitsForAnswersSaysWhatItHas() async throws {
    let bed = try await Self.bed(.silence)
    try await bed.follow("s1", tokens: (0..<7).map { paddedHex($0) })
    let worker = try await bed.startWorker {
      $0.deliver.requestTimeout = .seconds(600)
      $0.straggleAfter = .seconds(600)
      $0.heartbeatInterval = .milliseconds(50)
      $0.drainTimeout = .zero
    }
    try await bed.emit("e1")
    _ = try await bed.until("all are in flight, and their segment has left its place") {
      let streams = try Self.field(bed, "streams")
      let lag = try Self.field(bed, "lag")
      return try streams == "7" && lag == "1" && Self.field(bed, "segments_lingering") == "1"
        ? true : nil
    }
    let expected = [
      "version": "test", "lanes": "2", "partitions": "16", "records_in_flight": "1",
      "records_aside": "0", "ready": "0", "connections": "4", "waits_for": "", "held_routes": "",
    ]
    for (name, value) in expected { #expect(try Self.field(bed, name) == value, "\(name)") }
    let memory = try #require(Int(try Self.field(bed, "rss_bytes")))
    #expect(memory > 1_000_000 && memory < 10_000_000_000)
    let beat = try #require(Int64(try Self.field(bed, "beat_ms")))
    #expect(abs(beat - WallClock.nowMilliseconds()) < 60_000)
    let ahead = try #require(Int64(try Self.field(bed, "clock_ahead_ms")))
    #expect(abs(ahead) < 60_000)
    #expect(try bed.redis.cli("EXISTS", "ff:{stats}:series") == "1")
    _ = await worker.stop()
  }

  @Test func credentialsThatAreRefusedAreNamed() async throws {
    let refusal = Refusal(status: 403, reason: "InvalidProviderToken")
    let bed = try await Self.bed(.refuse(refusal))
    try await bed.follow("s1", tokens: (0..<20).map { paddedHex($0) })
    let worker = try await bed.startWorker {
      $0.heartbeatInterval = .milliseconds(50)
      $0.drainTimeout = .zero
    }
    try await bed.emit("e1")
    let held = try await bed.until("it is said") {
      let text = try Self.field(bed, "held_routes")
      return text.isEmpty ? nil : text
    }
    #expect(held.contains("production") && held.contains("InvalidProviderToken"))
    #expect(held.contains(WorkerBed.app))
    _ = await worker.stop()
  }

  /// Each overwrites what the other says of itself. A restart is no namesake.
  @Test func aSecondWorkerOfTheSameIdIsNoticed() async throws {
    let bed = try await WorkerBed()
    let said = "another worker has the same id"
    func start() async throws -> Worker {
      try await bed.startWorker { $0.heartbeatInterval = .milliseconds(50) }
    }
    func beats(_ worker: Worker) async throws {
      let first = try Self.field(bed, "beat_ms")
      for _ in 0..<2 {
        _ = try await bed.until("it beats") {
          try Self.field(bed, "beat_ms") != first ? true : nil
        }
      }
    }
    let first = try await start()
    try await beats(first)
    #expect(await first.stop())
    let second = try await start()
    try await beats(second)
    #expect(!bed.sink.lines.contains { $0.contains(said) })
    let third = try await start()
    _ = try await bed.until("both say so") {
      bed.sink.lines.count { $0.contains(said) } >= 2 ? true : nil
    }
    try await beats(third)
    // Each once a minute.
    #expect(bed.sink.lines.count { $0.contains(said) } == 2)
    #expect(await third.stop())
    #expect(await second.stop())
  }

  /// The worker's own counters are the event's.
  @Test func countersAreThoseOfItsEvents() async throws {
    let bed = try await WorkerBed()
    let magic = ["0410", "0413", "1503"].map { code in
      let start = MagicTokens.prefix + code
      return start + String(repeating: "e", count: 64 - start.count)
    }
    try await bed.follow("s1", tokens: magic + (0..<9).map { paddedHex($0) })
    _ = try bed.redis.cli("HSET", "ffd:{u:s1-u11}:profile", "muted", "1")
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.accepted == 9 && status.suppressed == 1 && status.retried == 1)
    #expect(status.rejected == ["Unregistered": 1, "PayloadTooLarge": 1] && status.pruned == 1)
    #expect(await worker.stop())
    let counters = worker.counters.snapshot()
    #expect(counters[.eventsOK] == 1 && counters[.segmentsSettled] == 1)
    #expect(counters[.recipients] == status.recipients && counters.pushes == status.pushes)
    #expect(counters[.pushesAccepted] == 9 && counters[.pushesSuppressed] == 1)
    #expect(counters[.pushesRejected] == 2 && counters[.retries] == 1)
    #expect(counters[.tokensPruned] == 1)
  }
}
