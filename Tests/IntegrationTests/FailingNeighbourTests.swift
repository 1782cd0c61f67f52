import APNsSimulator
import Model
import Pipeline
import Record
import Telemetry
import TestBed
import Testing
import Threads

/// An event of which nothing is taken comes first, and an event with which nothing is wrong behind
/// it, on one lane.
@Suite(.serialized) struct FailingNeighbourTests {
  private static let bad = "bad0"
  private static let serverError = SimulatedAnswer.refuse(
    Refusal(status: 500, reason: "InternalServerError"))
  private static let refusedStream = SimulatedAnswer.reset(7)

  private static func token(_ shard: Int, _ index: Int) -> String {
    bad + paddedHex(shard << 16 | index).suffix(60)
  }

  /// A simulator that answers the bad devices like this, for ever.
  private static func bed(_ answer: SimulatedAnswer) async throws -> WorkerBed {
    var script = SimulatorScript()
    script.rules = [.init(prefix: bad, steps: [.init(answer)])]
    return try await WorkerBed(script: script)
  }

  private static func startWorker(
    _ bed: WorkerBed, _ change: (inout PipelineOptions) -> Void = { _ in }
  ) async throws -> Worker {
    let worker = try await bed.startWorker {
      $0.lanes = 1
      $0.straggleAfter = .milliseconds(500)
      $0.straggleDelay = .milliseconds(500)
      $0.deliver.retry = .init()
      change(&$0)
    }
    try await bed.ready()
    return worker
  }

  private static func failures(_ bed: WorkerBed) async -> Int {
    let summary = await bed.simulator.summary()
    return summary.rejected + summary.resets
  }

  /// Waits until next to nothing is sent, since nothing is taken.
  private static func serverIsOnlyAsked(_ bed: WorkerBed) async throws {
    let last = ThreadLock((failures: 0, at: WallClock.nowMilliseconds()))
    _ = try await bed.until("the server is only asked now and then") { () -> Bool? in
      let (failures, now) = (await Self.failures(bed), WallClock.nowMilliseconds())
      let (before, since) = last.withLock { $0 }
      guard now - since >= 700 else { return nil }
      last.withLock { $0 = (failures, now) }
      return before > 100 && failures > before && failures - before < 15 ? true : nil
    }
  }

  @Test func aSmallEventBehindManyIsSentSoon() async throws {
    let bed = try await Self.bed(Self.serverError)
    let events = 60
    for number in 0..<events {
      try await bed.follow("bad\(number)", tokens: (0..<6).map { Self.token(number, $0) })
    }
    try await bed.follow("good", tokens: (0..<6).map { paddedHex($0) })
    let worker = try await Self.startWorker(bed) { $0.limits.events = 2 * events }
    for number in 0..<events {
      try await bed.emit("bad\(number)", streamer: "bad\(number)", expiresIn: 120)
    }
    try await Self.serverIsOnlyAsked(bed)
    let before = await Self.failures(bed)
    try await bed.emit("good", streamer: "good", expiresIn: 120)
    let good = try await bed.finished("good")
    #expect(good.accepted == 6 && good.isBalanced)
    // Not each of them had a turn before it.
    let turns = await Self.failures(bed) - before
    // Six each would be 360; the clock of a busy machine grants some besides.
    #expect(turns < 2 * events, "\(turns) turns")
    #expect(await worker.stop())
  }

  /// Others are taken all the time, so that no rate of the server's bounds what fails.
  @Test(arguments: [serverError, refusedStream])
  func itIsNotTriedMoreThanTheServerWouldBe(answer: SimulatedAnswer) async throws {
    let bed = try await Self.bed(answer)
    try await bed.followInShards("bad", shards: 4, perShard: 500) { Self.token($0, $1) }
    try await bed.follow("good", tokens: (0..<200).map { paddedHex($0) })
    let worker = try await Self.startWorker(bed)
    try await bed.emit("bad", streamer: "bad", expiresIn: 120)
    _ = try await bed.until("nothing of it is taken") {
      await Self.failures(bed) > 200 ? true : nil
    }
    // Each of its devices has its first try, and a few more until it is known.
    let begun = WallClock.nowMilliseconds()
    var (tries, before, since, number) = (Int.max, 0, begun, 0)
    while tries > 100, WallClock.nowMilliseconds() < begun + 40_000 {
      number += 1
      try await bed.emit("good\(number)", streamer: "good", expiresIn: 120)
      #expect(try await bed.finished("good\(number)").accepted == 200)
      guard WallClock.nowMilliseconds() >= since + 2_000 else { continue }
      let failures = await Self.failures(bed)
      (tries, before, since) = (failures - before, failures, WallClock.nowMilliseconds())
    }
    #expect(tries <= 100, "\(tries) tries in some two seconds")
    #expect(try await bed.status("bad")?.state == .running)
    #expect(await worker.stop())
  }
}
