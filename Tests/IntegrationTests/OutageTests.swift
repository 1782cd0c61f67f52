import APNsSimulator
import Devices
import Model
import Pipeline
import Record
import ServerProcesses
import Telemetry
import TestBed
import Testing
import Transport

/// Workers, Redis and servers that go away in the middle.
@Suite(.serialized) struct OutageTests {
  @Test func waitsForARedisThatDiesAndComesBack() async throws {
    // Of a fast machine the event would be over before Redis dies.
    var script = SimulatorScript()
    script.latency = .milliseconds(50)
    let bed = try await WorkerBed(redis: RedisServerProcess(isDurable: true), script: script)
    let audience = SyntheticAudience(followers: 10_000, seed: 5, topic: WorkerBed.app)
    try await bed.seed(audience, streamer: "s1")
    let worker = try await bed.startWorker { $0.deliver.streamsPerConnection = 20 }
    try await bed.emit("e1")
    _ = try await bed.until("some pushes have gone") {
      await bed.simulator.summary().accepted > 1000 ? true : nil
    }
    bed.redis.kill()
    _ = try await bed.until("the worker says that it waits") {
      bed.sink.lines.contains { $0.contains("waiting to ") } ? true : nil
    }
    try bed.redis.start()
    let status = try await bed.finished("e1")
    let summary = await bed.simulator.summary()
    #expect(status.isBalanced)
    #expect(status.accepted == audience.totals().devices - audience.totals().mutedDevices)
    #expect(status.accepted == summary.accepted)
    #expect(summary.duplicates == 0)
    #expect(await worker.stop())
  }

  /// An idle worker too: nobody sends anything while the broker is away and when it is back.
  @Test func aKafkaThatIsAwayIsNamedUntilItIsBack() async throws {
    let bed = try await WorkerBed()
    @Sendable func waits() throws -> String {
      try bed.redis.cli("HGET", "ff:worker:worker-1", "waits_for")
    }
    let worker = try await bed.startWorker {
      $0.heartbeatInterval = .milliseconds(100)
      $0.kafka.reachabilityInterval = .milliseconds(200)
    }
    try await bed.ready()
    _ = try await bed.until("the first beat") {
      try bed.redis.cli("EXISTS", "ff:worker:worker-1") == "1" ? true : nil
    }
    #expect(try waits() == "")
    for _ in 0..<2 {
      bed.broker?.setDown(true)
      _ = try await bed.until("the heartbeat names Kafka") {
        try waits().contains("kafka: no broker of \(bed.bootstrapServers)") ? true : nil
      }
      bed.broker?.setDown(false)
      _ = try await bed.until("it is back") { try waits() == "" ? true : nil }
    }
    let said = ["waiting for Kafka: no broker can be reached", "Kafka can be reached again"]
    for line in said { #expect(bed.sink.lines.count { $0.contains(line) } >= 2, "\(line)") }
    try await bed.follow("s1", tokens: [paddedHex(1)])
    try await bed.emit("e1")
    #expect(try await bed.finished("e1").accepted == 1)
    #expect(await worker.stop())
  }

  /// The real broker, where FANFARE_KAFKA_HOME names one; `.ci/run` sets it when it can.
  @Test(.enabled(if: RealKafka.home != nil, "FANFARE_KAFKA_HOME names no Kafka"))
  func goesTheWholeWayOnARealKafka() async throws {
    let kafka = try RealKafka()
    let bed = try await WorkerBed(kafka: kafka)
    let audience = SyntheticAudience(followers: 3_000, seed: 6, topic: WorkerBed.app)
    try await bed.seed(audience, streamer: "s1")
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    let summary = await bed.simulator.summary()
    #expect(await worker.stop())
    #expect(status.isBalanced && status.accepted == summary.accepted)
    #expect(status.accepted == audience.totals().devices - audience.totals().mutedDevices)
    #expect(summary.duplicates == 0)
  }
}
