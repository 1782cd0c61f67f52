import APNsSimulator
import Fixtures
import Pipeline
import ServerProcesses
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

  /// A try reads all counters: frequent beats must not cost as much as rare ones each.
  @Test func thePointOfTheSeriesIsTriedOnceInItsInterval() async throws {
    // Of one Redis: a cluster's masters count apart.
    let bed = try await WorkerBed(redis: RedisServerProcess())
    let worker = try await bed.startWorker { $0.heartbeatInterval = .milliseconds(50) }
    // Two of each beat.
    _ = try await bed.until("forty beats") { try bed.redis.calls("expire") >= 80 ? true : nil }
    let tries = try bed.redis.calls("xadd")
    #expect(tries >= 1 && tries <= 10, "\(tries)")
    _ = await worker.stop()
  }
}
