import Glibc
import Record
import TestBed
import Testing

/// A giant's windows, and a broker that stands still in the middle of one.
@Suite(.serialized) struct FrozenBrokerTests {
  /// Two windows.
  private static let shards = 256
  private static let devices = 2 * shards
  private static let bulk = "notify-followers.segments.bulk"

  private static func token(_ shard: Int, _ index: Int) -> String { paddedHex(shard << 16 | index) }

  /// The worker that writes the window ends without an answer. Whoever comes next reads what there
  /// is of the window first, and the event's own record last: nothing but that record may bring
  /// what is missing, and so nothing may say already that more than this window is there.
  @Test func nothingIsLostOfAWindowThatWasWrittenInPart() async throws {
    try await Self.endInAWindow(by: SIGKILL)
  }

  @Test func norWhenItsWriterIsToldToStop() async throws {
    try await Self.endInAWindow(by: SIGTERM)
  }

  private static func endInAWindow(by signal: Int32) async throws {
    let bed = try await WorkerBed()
    try await bed.followInShards("s1", shards: Self.shards, perShard: 2, token: Self.token)
    try await FreezingBroker.run(before: bed.bootstrapServers) { broker in
      let writer = try await bed.startProcess(
        "writer", executable: WorkerExecutable.path,
        settings: [
          "kafka.bootstrap_servers=\(broker.bootstrapServers)", "lanes.drain_timeout=1s",
        ])
      // Each has the records of one of four partitions, or fewer.
      await broker.freeze(afterProduceRequests: 2)
      try await bed.emit("e1")
      _ = try await bed.until("the broker stands still") { await broker.isFrozen ? true : nil }
      #expect(writer.stop(signal) == (signal == SIGTERM ? 75 : 128 + signal))
      let written = try await bed.until("a part is there") {
        let count = try bed.records(of: Self.bulk)
        return count > 0 ? count : nil
      }
      #expect(written < 128)
      await broker.thaw()
    }
    let running = try #require(try await bed.status("e1"))
    #expect(running.state == .running && running[.published] == 0)
    // What was sent and is not recorded may be sent again.
    let atRisk = await bed.simulator.summary().accepted - running.accepted
    let count = try bed.records(of: Self.bulk)
    let segmentsOnly = try await bed.startWorker { $0.ingest.eventsTopic = "elsewhere" }
    _ = try await bed.until("what is there is settled") {
      try await bed.status("e1").map { $0.settled >= count ? true : nil } ?? nil
    }
    #expect(await segmentsOnly.stop())
    let heir = try await bed.startWorker { $0.workerID = "heir" }
    let status = try await bed.finished("e1")
    #expect(await heir.stop())
    #expect(status.state == .done && status.isBalanced && status.settled == Self.shards)
    #expect(status.accepted == Self.devices && status[.published] == Self.shards)
    var lost = 0
    for shard in 0..<Self.shards {
      for index in 0..<2 {
        let counts = await bed.simulator.counts(of: Self.token(shard, index))
        if counts.accepted == 0 { lost += 1 }
      }
    }
    #expect(lost == 0)
    #expect(await bed.simulator.summary().duplicates <= atRisk)
  }
}
