import APNsSimulator
import Glibc
import Record
import TestBed
import Testing

/// A worker that is told to stop while no broker answers.
@Suite("Stopping without Kafka") struct KafkaAwayTests {
  private static let token = String(repeating: "ab", count: 32)

  @Test("A worker ends though the commit of what it did is never answered")
  func pendingCommit() async throws {
    var script = SimulatorScript()
    script.latency = .milliseconds(500)
    let bed = try await WorkerBed(script: script)
    try await bed.follow("s1", tokens: [Self.token])
    // As long as librdkafka would wait for the commit: longer than the test waits for the end.
    let worker = try await bed.startProcess(
      "w1", executable: WorkerExecutable.path, settings: ["kafka.session_timeout=5m"])
    try await bed.emit("e1")
    _ = try await bed.until("the push is in flight") {
      await bed.simulator.summary().requests > 0 ? true : nil
    }
    let broker = try #require(bed.broker)
    broker.setDown(true)
    #expect(try await bed.finished("e1").accepted == 1)
    worker.signal(SIGTERM)
    let ending = try await bed.until("the worker has ended") { worker.ending }
    #expect(ending.status == 0)
  }
}
