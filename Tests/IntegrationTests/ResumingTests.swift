import APNsSimulator
import Devices
import Kafka
import Model
import Pipeline
import Record
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// Events and records that are taken up again: by another worker, after a rewrite, out of the dead
/// letters.
@Suite(.serialized) struct ResumingTests {
  /// An event is done when its segments are in Kafka, not when they are on their way.
  @Test func whatKafkaDoesNotTakeYetIsNotLostWithItsWorker() async throws {
    let bed = try await WorkerBed()
    try await bed.followInShards("s1", shards: 8, perShard: 10) { shard, index in
      paddedHex(shard << 16 | index)
    }
    try await bed.emit("e1")
    bed.broker?.fail(next: .produce, with: Array(repeating: .topicAuthorizationFailed, count: 10))
    let first = try await bed.startWorker { $0.drainTimeout = .zero }
    _ = try await bed.until("Kafka refuses the segments") {
      let refused = "waiting to write to notify-followers.segments in Kafka"
      return bed.sink.lines.contains { $0.contains(refused) } ? true : nil
    }
    #expect(try await bed.status("e1")?[.published] == 0)
    let isDone = await first.stop()
    #expect(!isDone)
    let second = try await bed.startWorker { $0.workerID = "worker-2" }
    let status = try await bed.finished("e1")
    #expect(status.accepted == 80 && status.settled == 8 && status.isBalanced)
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(await second.stop())
  }

  /// Its marks name shards of the division that it was planned with.
  @Test func aResumedEventKeepsTheDivisionItWasPlannedWith() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess(), partitions: 1)
    try await bed.followInShards("s1", shards: 2, perShard: 50) { shard, index in
      paddedHex(shard << 16 | index)
    }
    let keyspace = bed.keyspace
    try await bed.withRedis { client in
      let now = WallClock.nowMilliseconds()
      let event = Event(
        id: "e1", app: WorkerBed.app, streamer: "s1", stream: "b1", template: "go-live",
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
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.segments == 2 && status.settled == 2 && status.isBalanced)
    #expect(status.accepted == 100 && status.recipients == 100)
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(await worker.stop())
    // An operator sees what a worker goes on with: once each, however many segments there are.
    func said(_ what: String) -> Int {
      bed.sink.lines.count { $0.contains(what) && $0.contains("\"event\":\"e1\"") }
    }
    #expect(said("fan-out resumed") == 1 && said("fan-out started") == 0)
    #expect(said("fan-out taken up") == 1 && said("fan-out done") == 1)
  }

  /// Somebody mends what was wrong and sends the dead letter in again, as it is.
  @Test func aDeadLetterThatIsSentInAgainGoesOn() async throws {
    let bed = try await WorkerBed(redis: RedisServerProcess(), partitions: 1)
    try await bed.follow("s1", tokens: (0..<5).map { paddedHex($0) })
    let generation = try bed.redis.cli("HGET", "ffd:{f:s1}", "generation")
    let shard = "ffd:{f:s1:\(generation):0}"
    _ = try bed.redis.cli("RENAME", shard, "mislaid")
    _ = try bed.redis.cli("SET", shard, "a string")
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    let letter = try #require(try deadLetter(bed))
    #expect(try await bed.finished("e1").state == .incomplete)
    _ = try bed.redis.cli("RENAME", "mislaid", shard)
    try await bed.emit(raw: letter.value, key: "s1", headers: letter.headers)
    let status = try await bed.until("it is done after all") {
      try await bed.status("e1").map { $0.state == .done ? $0 : nil } ?? nil
    }
    #expect(status.accepted == 5 && status.segments == 1 && status.isBalanced)
    #expect(status.source == "notify-followers/0/1")
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(await worker.stop())
  }

  /// What Apple says of tokens goes to Redis while a large set is read, not at its end: one device
  /// that is never answered keeps the segment from coming to it.
  @Test func verdictsOfALargeSetDoNotPileUp() async throws {
    var script = SimulatorScript()
    let silent = paddedHex(1 << 40)
    script.rules = [
      .init(tokens: [silent], steps: [.init(.silence)]),
      .init(
        prefix: "0",
        steps: [.init(.refuse(Refusal(status: 410, reason: "Unregistered", timestamp: .now)))]),
    ]
    let bed = try await WorkerBed(script: script)
    try await bed.follow("s1", tokens: [silent] + (0..<300).map { paddedHex($0) })
    _ = try bed.redis.cli(["SADD", "followers:large"] + (0...300).map { "s1-u\($0)" })
    let worker = try await bed.startWorker {
      $0.expand.plainSetKey = "followers:{streamer}"
      $0.expand.pageSize = 20
      $0.record.verdictsAtOnce = 4
      $0.record.removalShare = 100
      $0.deliver.readyPushes = 8
      $0.deliver.streamsPerConnection = 4
      $0.deliver.requestTimeout = .seconds(600)
      $0.drainTimeout = .zero
    }
    try await bed.emit("e1", streamer: "large")
    _ = try await bed.until("tokens are taken out") {
      try await bed.status("e1").map { $0.pruned >= 100 ? true : nil } ?? nil
    }
    let status = try #require(try await bed.status("e1"))
    #expect(status.state == .running && status.settled == 0 && status.pushes == 0)
    _ = await worker.stop()
  }

  private func deadLetter(_ bed: WorkerBed) throws -> KafkaMessage? {
    var options = KafkaOptions(bootstrapServers: bed.bootstrapServers)
    options.group = "reader"
    let consumer = try KafkaConsumer(options, topics: ["notify-followers.dead-letters"]) { _ in }
    try consumer.subscribe()
    defer { consumer.close(timeout: .seconds(2)) }
    for _ in 0..<600 {
      if case .message(let message) = consumer.poll(timeout: .milliseconds(100)) { return message }
    }
    return nil
  }
}
