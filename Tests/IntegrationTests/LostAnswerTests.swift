import APNsSimulator
import Pipeline
import Record
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// Answers of Redis that are lost on their way.
@Suite struct LostAnswerTests {
  /// Redis settles, and its answer is lost: the worker tells of the end all the same.
  @Test func aSettlingWhoseAnswerIsLostIsToldOf() async throws {
    var script = SimulatorScript()
    script.latency = .milliseconds(500)
    let bed = try await WorkerBed(redis: RedisServerProcess(), script: script)
    try await bed.follow("s1", tokens: [paddedHex(1), paddedHex(2)])
    let worker = try await bed.startWorker {
      $0.redis.commandTimeout = .milliseconds(300)
      $0.heartbeatInterval = .seconds(600)
    }
    try await bed.ready()
    // Redis learns its scripts.
    try await bed.emit("e0", expiresIn: 120)
    _ = try await bed.finished("e0")
    try await bed.emit("e1", expiresIn: 120)
    _ = try await bed.until("the pushes are under way") {
      await bed.simulator.summary().requests == 4 ? true : nil
    }
    bed.redis.freeze()
    _ = try await bed.until("the worker waits for Redis") {
      bed.sink.lines.contains { $0.contains("waiting to write counters to Redis") } ? true : nil
    }
    bed.redis.resume()
    let status = try await bed.finished("e1")
    #expect(status.accepted == 2 && status.isBalanced)
    _ = try await bed.until("the worker says so") {
      bed.sink.lines.contains { $0.contains("fan-out done") && $0.contains("\"e1\"") }
        ? true : nil
    }
    #expect(await worker.stop())
    let counters = worker.counters.snapshot()
    #expect(counters[.segmentsSettled] == 2 && counters[.pushesAccepted] == 4)
  }
}
