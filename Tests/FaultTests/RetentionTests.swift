import APNsSimulator
import Devices
import Glibc
import TestBed
import Testing

/// Records that Kafka throws away before any worker has read them. The embedded broker keeps the
/// last 5 MiB of a partition.
@Suite(.serialized) struct RetentionTests {
  private static let audience = SyntheticAudience(
    followers: 30_000, seed: 41, topic: WorkerBed.app, mutedShare: 0)
  private static let segments = "notify-followers.segments"

  /// The event is planned again, but for what is settled.
  @Test func segmentsThatKafkaNoLongerHasArePlannedAgain() async throws {
    let bed = try await Self.bedWithLostSegments([], expiresIn: 600)
    let heir = try await bed.startWorker()
    let status = try await bed.finished("e1")
    #expect(status.state == .done && status.isBalanced)
    #expect(status.pushes == Self.audience.totals().devices)
    #expect(status.deadLettered == 0)
    #expect(bed.sink.lines.contains { $0.contains("no worker had read") })
    let lost = try await Self.skipped(heir.metrics().text)
    #expect(lost > 0)
    #expect(await heir.stop())
  }

  /// Where Redis does not keep the event, nobody knows what it said. The fan-out ends some time
  /// after the event is over.
  @Test func aFanOutWhoseSegmentsAreLostForGoodIsIncomplete() async throws {
    let bed = try await Self.bedWithLostSegments(["events.trace=none"], expiresIn: 30)
    let heir = try await bed.startWorker {
      $0.record.trace = nil
      $0.straggleDelay = .milliseconds(500)
      $0.claimLifetime = .seconds(1)
    }
    let status = try await bed.finished("e1")
    #expect(status.state == .incomplete && status.isBalanced)
    #expect(status.deadLettered > 0)
    #expect(status.settled + status.deadLettered == status.segments + status.stragglers)
    #expect(try bed.redis.cli("HGET", "ff:{e:e1}", "dead_letter").hasSuffix(" lost"))
    #expect(bed.sink.lines.contains { $0.contains("the records of the rest of it are lost") })
    #expect(await heir.stop())
  }

  /// A worker was killed in the middle, and what it had not read is thrown away.
  private static func bedWithLostSegments(
    _ settings: [String], expiresIn: Int
  ) async throws -> WorkerBed {
    var script = SimulatorScript()
    script.latency = .milliseconds(20)
    let bed = try await WorkerBed(script: script)
    try await bed.seed(audience, streamer: "s1")
    let victim = try await bed.startProcess(
      "victim", executable: WorkerExecutable.path,
      settings: ["apns.streams_per_connection=20"] + settings)
    try await bed.emit("e1", expiresIn: expiresIn)
    _ = try await bed.until("some segments are settled") { () -> Bool? in
      guard let status = try await bed.status("e1") else { return nil }
      return status.settled >= 2 && status[.published] == status.segments ? true : nil
    }
    victim.stop(SIGKILL)
    let large = [UInt8](repeating: 0x20, count: 900_000)
    for number in 0..<64 { try await bed.emit(raw: large, key: "\(number)", topic: Self.segments) }
    return bed
  }

  private static func skipped(_ metrics: String) throws -> Int {
    let line = metrics.split(separator: "\n").first {
      $0.hasPrefix("fanfare_kafka_records_skipped_total{topic=\"\(segments)\"}")
    }
    return try #require(line?.split(separator: " ").last.flatMap { Int($0) })
  }
}
