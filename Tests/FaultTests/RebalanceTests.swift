import APNsSimulator
import Deliver
import Devices
import Glibc
import Kafka
import Pipeline
import ServerProcesses
import TestBed
import Testing

/// Members that come and go in the middle of a fan-out, and a group that hands records out again.
@Suite(.serialized) struct RebalanceTests {
  private static let audience = SyntheticAudience(
    followers: 8_000, seed: 21, topic: WorkerBed.app, mutedShare: 0)

  private static func slow() -> SimulatorScript {
    var script = SimulatorScript()
    script.latency = .milliseconds(20)
    return script
  }

  /// The real broker, whose groups really rebalance, where there is one; the embedded one
  /// otherwise.
  private static func bed(_ kafka: RealKafka?) async throws -> WorkerBed {
    try await WorkerBed(kafka: kafka, script: slow())
  }

  private static func slowly(_ options: inout PipelineOptions) {
    options.deliver.streamsPerConnection = 10
  }

  @Test func joiningAndLeavingSendNothingTwice() async throws {
    let kafka = RealKafka.home == nil ? nil : try RealKafka()
    let bed = try await Self.bed(kafka)
    try await bed.seed(Self.audience, streamer: "s1", expecting: 32_000)
    let first = try await bed.startWorker(Self.slowly)
    try await bed.ready()
    try await bed.emit("e1")
    try await Self.settled(bed, 2)
    let second = try await bed.startWorker {
      Self.slowly(&$0)
      $0.workerID = "worker-2"
    }
    try await bed.ready(workers: 2)
    try await Self.settled(bed, 5)
    #expect(await first.stop())
    let third = try await bed.startWorker {
      Self.slowly(&$0)
      $0.workerID = "worker-3"
    }
    let status = try await bed.finished("e1")
    #expect(await second.stop())
    #expect(await third.stop())
    #expect(status.isBalanced && status.accepted == Self.audience.totals().devices)
    let summary = await bed.simulator.summary()
    #expect(summary.accepted == status.accepted && summary.duplicates == 0)
  }

  /// Two static members of the same name: the group fences the first.
  @Test(.enabled(if: RealKafka.home != nil, "FANFARE_KAFKA_HOME names no Apache Kafka"))
  func aFencedWorkerEnds() async throws {
    let kafka = try RealKafka()
    let bed = try await Self.bed(kafka)
    let instance = ["kafka.static_membership=true", "worker.id=one"]
    let first = try await bed.startProcess(
      "first", executable: WorkerExecutable.path, settings: instance)
    let second = try await bed.startProcess(
      "second", executable: WorkerExecutable.path, settings: instance)
    // The one that came first, as a rule; the other one where the machine stood still meanwhile and
    // the first has come again.
    let (fenced, other) = try await bed.until("one of them is fenced") {
      first.ending != nil ? (first, second) : second.ending != nil ? (second, first) : nil
    }
    #expect(fenced.waitForExit() == 75)
    try await bed.follow("s1", tokens: [paddedHex(1)])
    try await bed.emit("e1")
    #expect(try await bed.finished("e1").accepted == 1)
    #expect(other.stop(SIGTERM) == 0)
  }

  private static func settled(_ bed: WorkerBed, _ count: Int) async throws {
    _ = try await bed.until("\(count) segments are settled") {
      try await bed.status("e1").map { $0.settled >= count ? true : nil } ?? nil
    }
  }
}
