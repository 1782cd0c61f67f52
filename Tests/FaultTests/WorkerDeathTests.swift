import APNsSimulator
import Devices
import Glibc
import Record
import TestBed
import Testing

/// Worker processes that are killed or told to stop in the middle. The ledger of the simulator is
/// the judge: lost = tokens that should have been accepted and were not.
@Suite(.serialized) struct WorkerDeathTests {
  private static let audience = SyntheticAudience(
    followers: 6_000, seed: 11, topic: WorkerBed.app, mutedShare: 0)
  /// In four times as many shards as they need.
  private static let expected = 24_000
  /// Slow enough that there is a middle.
  private static let slowly = ["apns.streams_per_connection=10"]
  /// Little enough in flight to end in time on a busy machine too.
  private static let carefully = ["lanes.segments_per_lane=1", "lanes.drain_timeout=2900ms"]
  /// Half of it is for leaving in good order: five seconds, the most that a worker ever takes.
  private static let leaving = ["lanes.drain_timeout=10s"]

  @Test func losesNothingWhenAWorkerIsKilled() async throws {
    let bed = try await WorkerBed(script: Self.latency(.milliseconds(20)))
    try await bed.seed(Self.audience, streamer: "s1", expecting: Self.expected)
    let victim = try await bed.startProcess(
      "victim", executable: WorkerExecutable.path, settings: Self.slowly)
    try await bed.emit("e1")
    try await bed.middle()
    victim.stop(SIGKILL)
    let running = try #require(try await bed.status("e1"))
    #expect(running.state == .running)
    // What was sent and is not recorded; what was on the wire comes on top: two lanes of two
    // connections of ten streams.
    let sent = await bed.simulator.summary().accepted
    let atRisk = sent - running.accepted + 2 * 2 * 10
    let heir = try await bed.startProcess("heir", executable: WorkerExecutable.path)
    let status = try await bed.finished("e1")
    #expect(heir.stop(SIGTERM) == 0)
    try await bed.expectNothingLost(of: Self.audience, status)
    let duplicates = await bed.simulator.summary().duplicates
    #expect(duplicates <= atRisk, "\(duplicates) duplicates, \(atRisk) were at risk")
    // Eight places of some 400 pushes each, and what had just left them.
    #expect(atRisk <= 12 * 450)
  }

  @Test func sendsNothingTwiceWhenAWorkerIsToldToStop() async throws {
    let bed = try await WorkerBed(script: Self.latency(.milliseconds(20)))
    try await bed.seed(Self.audience, streamer: "s1", expecting: Self.expected)
    let first = try await bed.startProcess(
      "first", executable: WorkerExecutable.path,
      settings: Self.slowly + Self.carefully)
    try await bed.emit("e1")
    try await bed.middle()
    #expect(first.stop(SIGTERM) == 0)
    let running = try #require(try await bed.status("e1"))
    #expect(running.state == .running)
    try await expectASuccessorFinishes(bed)
  }

  /// That a successor sends what is left, and nothing twice, is a scenario: leaving-silent.
  @Test func leavesInOrderWhenAPNsIsSilent() async throws {
    var script = SimulatorScript()
    script.silentAfter = 300
    let bed = try await WorkerBed(script: script)
    try await bed.seed(Self.audience, streamer: "s1")
    let first = try await bed.startProcess(
      "first", executable: WorkerExecutable.path,
      settings: ["lanes.segments_per_lane=1"] + Self.leaving)
    try await bed.emit("e1")
    _ = try await bed.until("APNs is silent") {
      await bed.simulator.summary().unanswered > 100 ? true : nil
    }
    #expect(first.stop(SIGTERM) == 0)
    let status = try #require(try await bed.status("e1"))
    // What had an answer is recorded, what had none is left: no segment goes back as a whole.
    #expect(status.state == .running && status.stragglers > 0 && status.waiting > 0)
    let answered = await bed.simulator.summary().accepted
    #expect(status.accepted == answered)
  }

  /// What the first worker has left is sent, and nothing twice.
  private func expectASuccessorFinishes(_ bed: WorkerBed) async throws {
    let second = try await bed.startProcess(
      "second", executable: WorkerExecutable.path)
    let status = try await bed.finished("e1")
    #expect(second.stop(SIGTERM) == 0)
    try await bed.expectNothingLost(of: Self.audience, status)
    #expect(await bed.simulator.summary().duplicates == 0)
  }

  /// Neither outcomes nor what is left can be recorded.
  @Test func saysThatSomethingIsLeftWhenItCannotRecordIt() async throws {
    var script = SimulatorScript()
    script.silentAfter = 1
    let bed = try await WorkerBed(script: script)
    try await bed.follow("s1", tokens: [paddedHex(1), paddedHex(2)])
    let first = try await bed.startProcess("first", executable: WorkerExecutable.path)
    try await bed.emit("e1")
    _ = try await bed.until("a push is in flight") {
      await bed.simulator.summary().unanswered > 0 ? true : nil
    }
    bed.redis.stop()
    // 75: retry later. What it could not finish is another's.
    #expect(first.stop(SIGINT) == 75)
  }

  private static func latency(_ latency: Duration) -> SimulatorScript {
    var script = SimulatorScript()
    script.latency = latency
    return script
  }
}
