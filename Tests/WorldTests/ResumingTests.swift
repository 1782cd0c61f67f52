import APNsSimulator
import Devices
import Kafka
import Model
import Pipeline
import Record
import Telemetry
import Testing
import World

/// Events and records that are taken up again: by another worker, after a rewrite, out of the dead
/// letters.
@Suite struct ResumingTests {
  /// An event is done when its segments are in Kafka, not when they are on their way.
  @Test func whatKafkaDoesNotTakeYetIsNotLostWithItsWorker() throws {
    try WorldHarness.live { harness in
      harness.followInShards("s1", shards: 8, perShard: 10) { shard, index in
        paddedHex(shard << 16 | index)
      }
      harness.emit("e1")
      harness.world.broker.fail(
        next: .produce, with: Array(repeating: .topicAuthorizationFailed, count: 10))
      let first = try harness.startWorker { $0.drainTimeout = .zero }
      _ = try harness.until("Kafka refuses the segments") {
        let refused = "waiting to write to notify-followers.segments in Kafka"
        return harness.lines.contains { $0.contains(refused) } ? true : nil
      }
      #expect(harness.status("e1")?[.published] == 0)
      let isDone = harness.stop(first)
      #expect(!isDone)
      let second = try harness.startWorker("worker-2")
      let status = try harness.finished("e1")
      #expect(status.accepted == 80 && status.settled == 8 && status.isBalanced)
      #expect(harness.summary.duplicates == 0)
      #expect(harness.stop(second))
    }
  }

  /// Its marks name shards of the division that it was planned with.
  @Test func aResumedEventKeepsTheDivisionItWasPlannedWith() throws {
    try WorldHarness.live(partitions: 1) { harness in
      harness.followInShards("s1", shards: 2, perShard: 50) { shard, index in
        paddedHex(shard << 16 | index)
      }
      let keyspace = harness.keyspace
      let now = harness.now
      try harness.withRedis { client in
        let event = Event(
          id: "e1", app: WorldHarness.app, streamer: "s1", stream: "b1", template: "go-live",
          occurredAt: now, expiresAt: now + 900_000, fields: [:], document: [])
        // The first record of the only partition.
        let (opened, _) = try await RecordStage(redis: client, keyspace: keyspace).open(
          event: event, audience: .sharded(shards: 2, generation: 1, followers: 100),
          source: "notify-followers/0/0", claim: nil, lifetime: .zero, now: now)
        #expect(opened == .new)
        let divided = try await AudienceSharding(redis: client, keyspace: keyspace)
          .run(streamer: "s1", from: .current)
        #expect(divided.shards == 1)
      }
      let worker = try harness.startWorker()
      harness.emit("e1")
      let status = try harness.finished("e1")
      #expect(status.segments == 2 && status.settled == 2 && status.isBalanced)
      #expect(status.accepted == 100 && status.recipients == 100)
      #expect(harness.summary.duplicates == 0)
      #expect(harness.stop(worker))
      // An operator sees what a worker goes on with: once each, however many segments there are.
      func said(_ what: String) -> Int {
        harness.lines.count { $0.contains(what) && $0.contains("event=e1") }
      }
      #expect(said("fan-out resumed") == 1 && said("fan-out started") == 0)
      #expect(said("fan-out taken up") == 1 && said("fan-out done") == 1)
    }
  }

  /// Somebody mends what was wrong and sends the dead letter in again, as it is.
  @Test func aDeadLetterThatIsSentInAgainGoesOn() throws {
    try WorldHarness.live(partitions: 1) { harness in
      harness.follow("s1", tokens: (0..<5).map { paddedHex($0) })
      let generation = harness.redis("HGET", "ffd:{f:s1}", "generation")
      let shard = "ffd:{f:s1:\(generation):0}"
      harness.redis("RENAME", shard, "mislaid")
      harness.redis("SET", shard, "a string")
      let worker = try harness.startWorker()
      harness.emit("e1")
      let letter = try harness.until("it is a dead letter") { harness.deadLetters.first }
      #expect(try harness.finished("e1").state == .incomplete)
      harness.redis("RENAME", "mislaid", shard)
      harness.append(letter.value, key: "s1", headers: letter.headers)
      let status = try harness.until("it is done after all") {
        harness.status("e1").map { $0.state == .done ? $0 : nil } ?? nil
      }
      #expect(status.accepted == 5 && status.segments == 1 && status.isBalanced)
      #expect(status.source == "notify-followers/0/1")
      #expect(harness.summary.duplicates == 0)
      #expect(harness.stop(worker))
    }
  }

  /// What Apple says of tokens goes to Redis while a large set is read, not at its end: one device
  /// that is never answered keeps the segment from coming to it.
  @Test func verdictsOfALargeSetDoNotPileUp() throws {
    var script = SimulatorScript()
    let silent = paddedHex(1 << 40)
    script.rules = [
      .init(tokens: [silent], steps: [.init(.silence)]),
      .init(
        prefix: "0",
        steps: [.init(.refuse(Refusal(status: 410, reason: "Unregistered", timestamp: .now)))]),
    ]
    try WorldHarness.live(script: script) { harness in
      harness.follow("s1", tokens: [silent] + (0..<300).map { paddedHex($0) })
      harness.redis(["SADD", "followers:large"] + (0...300).map { "s1-u\($0)" })
      let worker = try harness.startWorker {
        $0.expand.plainSetKey = "followers:{streamer}"
        $0.expand.pageSize = 20
        $0.record.verdictsAtOnce = 4
        $0.record.removalShare = 100
        $0.deliver.readyPushes = 8
        $0.deliver.streamsPerConnection = 4
        $0.deliver.requestTimeout = .seconds(600)
        $0.drainTimeout = .zero
      }
      harness.emit("e1", streamer: "large")
      _ = try harness.until("tokens are taken out") {
        harness.status("e1").map { $0.pruned >= 100 ? true : nil } ?? nil
      }
      let status = try #require(harness.status("e1"))
      #expect(status.state == .running && status.settled == 0 && status.pushes == 0)
      _ = harness.stop(worker)
    }
  }
}
