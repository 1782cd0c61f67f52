import APNsSimulator
import Deliver
import Model
import Pipeline
import TestBed
import Testing

/// What a worker that stops leaves to the next one.
@Suite(.serialized) struct LeavingTests {
  /// Half of it is for leaving in good order: five seconds, the most that a worker ever takes.
  private static let drainTimeout = Duration.seconds(10)

  /// A few streams without an answer, or pushes that wait for another try, keep no segment from
  /// settling: they alone are sent again.
  @Test(arguments: ["fff", "503"])
  func onlyWhatHasNoOutcomeIsSentAgainWhenAWorkerStops(answer: String) async throws {
    let bed = try await WorkerBed()
    // To their first try.
    try await bed.followInShards("s1", shards: 4, perShard: 300) { shard, index in
      let number = paddedHex(shard << 16 | index)
      return index % 100 == 7 ? "fa4efa4e1\(answer)" + number.dropFirst(12) : number
    }
    let first = try await bed.startWorker {
      $0.drainTimeout = Self.drainTimeout
      $0.straggleAfter = .seconds(60)
      $0.deliver.retry = RetryPolicy(initial: .seconds(60), maximum: .seconds(60))
    }
    try await bed.emit("e1")
    _ = try await bed.until("all but those are accepted") {
      await bed.simulator.summary().accepted == 4 * 297 ? true : nil
    }
    #expect(try await bed.status("e1")?.accepted == 0)
    #expect(await first.stop())
    let halfway = try #require(try await bed.status("e1"))
    #expect(halfway.settled == 4 && halfway.accepted == 4 * 297)
    let second = try await bed.startWorker {
      $0.workerID = "worker-2"
      $0.straggleDelay = .milliseconds(100)
    }
    let status = try await bed.finished("e1")
    #expect(status.accepted == 1200 && status.isBalanced && status.retried == 12)
    let summary = await bed.simulator.summary()
    #expect(summary.duplicates == 0 && summary.requests == 1212)
    #expect(await second.stop())
  }

  /// Apple takes few at a time, and most of each segment was not even rendered when the time is
  /// nearly over: what was taken is recorded, and the rest is left to the next worker.
  @Test func whatWasAcceptedOfHalfASegmentIsNotSentAgain() async throws {
    var script = SimulatorScript()
    script.latency = .milliseconds(200)
    let bed = try await WorkerBed(script: script)
    try await bed.followInShards("s1", shards: 4, perShard: 1000) { paddedHex($0 << 16 | $1) }
    let first = try await bed.startWorker {
      $0.lanes = 1
      $0.drainTimeout = Self.drainTimeout
      $0.limits.batchPushes = 50
      $0.deliver.readyPushes = 100
      $0.deliver.streamsPerConnection = 20
    }
    try await bed.emit("e1")
    _ = try await bed.until("some are accepted") {
      await bed.simulator.summary().accepted > 100 ? true : nil
    }
    #expect(await first.stop())
    let halfway = try #require(try await bed.status("e1"))
    #expect(halfway.settled == 4 && halfway.stragglers > 0)
    let accepted = await bed.simulator.summary().accepted
    #expect(halfway.accepted == accepted && accepted < 3000)
    let second = try await bed.startWorker {
      $0.workerID = "worker-2"
      $0.straggleDelay = .milliseconds(100)
    }
    let status = try await bed.finished("e1")
    #expect(status.accepted == 4000 && status.pushes == 4000 && status.isBalanced)
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(await second.stop())
  }

  /// A worker that stops at once gives all of it to the next one.
  @Test func withoutTimeToLeaveASegmentIsLeftAsItIs() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: ["fa4efa4e1fff" + paddedHex(1).dropFirst(12), paddedHex(2)])
    let first = try await bed.startWorker { $0.drainTimeout = .zero }
    try await bed.emit("e1")
    _ = try await bed.until("one is accepted") {
      await bed.simulator.summary().accepted == 1 ? true : nil
    }
    #expect(await !first.stop())
    let second = try await bed.startWorker { $0.workerID = "worker-2" }
    let status = try await bed.finished("e1")
    #expect(status.accepted == 2 && status.isBalanced)
    #expect(await bed.simulator.summary().duplicates == 1)
    #expect(await second.stop())
  }
}
