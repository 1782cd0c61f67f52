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

  /// What has no outcome would leave as stragglers, and there is nobody to write them to.
  @Test func aSegmentThatIsNotSettledIsSentAgain() async throws {
    var script = SimulatorScript()
    script.silentAfter = 10
    let bed = try await WorkerBed(script: script)
    try await bed.follow("s1", tokens: (0..<20).map { paddedHex($0) })
    // Nobody can tell the broker that this one has left.
    let session = ["kafka.session_timeout=6s"]
    let first = try await bed.startProcess(
      "w1", executable: WorkerExecutable.path, settings: session)
    try await bed.emit("e1")
    _ = try await bed.until("half of it has no answer") {
      await bed.simulator.summary().unanswered >= 10 ? true : nil
    }
    let broker = try #require(bed.broker)
    broker.setDown(true)
    // 75: what it could not finish is another's.
    #expect(first.stop(SIGTERM) == 75)
    #expect(try await bed.status("e1")?.settled == 0)
    await bed.simulator.replaceScript(SimulatorScript())
    broker.setDown(false)
    let second = try await bed.startProcess(
      "w2", executable: WorkerExecutable.path, settings: session)
    let status = try await bed.finished("e1")
    #expect(status.accepted == 20 && status.isBalanced)
    #expect(second.stop(SIGTERM) == 0)
    // Those that were answered have it twice.
    #expect(await bed.simulator.summary().accepted == 30)
  }
}
