import DeadLetters
import Ingest
import Kafka
import Record
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// Dead letters that are sent in again, from the broken record to the device.
@Suite(.serialized) struct DeadLetterReplayTests {
  @Test func aCorrectedCopyReachesEachDeviceOnce() async throws {
    let bed = try await WorkerBed()
    let token = paddedHex(1)
    try await bed.follow("s1", tokens: [token])
    let worker = try await bed.startWorker()
    // Some backend has written the app as a number.
    let good = event("corrected")
    let broken = Array(String(decoding: good, as: UTF8.self).replacing(quotedApp, with: "7").utf8)
    try await bed.emit(raw: broken, key: "s1")
    let letter = try await firstLetter(bed)
    #expect(letter.code == "wrong_type" && letter.event == "corrected")

    let corrected = try await act(bed) { acts in
      try await acts.correct(letter.id, body: good, isDry: false, repeats: false)
    }
    #expect(corrected?.preview == .fits("event corrected"))
    #expect(try await bed.finished("corrected").accepted == 1)
    // Whoever sends it again, in spite of its mark, changes nothing.
    for _ in 0..<2 {
      _ = try await act(bed) { acts in
        try await acts.correct(letter.id, body: good, isDry: false, repeats: true)
      }
    }
    try await duplicatesAreCounted(2, bed)
    #expect(await bed.simulator.counts(of: [token])[0].accepted == 1)
    #expect(await worker.stop())
  }

  @Test func aReplayGoesOnWithTheSameFanOut() async throws {
    let bed = try await WorkerBed()
    let token = paddedHex(2)
    try await bed.follow("s2", tokens: [token])
    let worker = try await bed.startWorker()
    // Where its followers are to be, another system has put something else.
    let key = bed.keyspace.followers(of: "s2")
    _ = try bed.redis.cli("RENAME", key, "\(key):kept")
    _ = try bed.redis.cli("SET", key, "wrong")
    try await bed.emit("held", streamer: "s2")
    let letter = try await firstLetter(bed)
    #expect(letter.code == "unprocessable")
    _ = try bed.redis.cli("DEL", key)
    _ = try bed.redis.cli("RENAME", "\(key):kept", key)

    let first = try await act(bed) { acts in
      try await acts.run(.replay, [letter.id], isDry: false)
    }
    #expect(first.replayed == 1)
    #expect(try await bed.finished("held").accepted == 1)
    let second = try await act(bed) { acts in
      try await acts.run(.replay, [letter.id], isDry: false)
    }
    #expect(second.already == 1 && second.replayed == 0)
    let forced = try await act(bed) { acts in
      try await acts.run(.replay, [letter.id], isDry: false, repeats: true)
    }
    #expect(forced.replayed == 1)
    try await duplicatesAreCounted(1, bed)
    #expect(await bed.simulator.counts(of: [token])[0].accepted == 1)
    let status = try #require(try await bed.status("held"))
    #expect(status.state == .done && status.deadLettered == 0)
    #expect(await worker.stop())
  }

  private let quotedApp = "\"\(WorkerBed.app)\""

  private func event(_ id: String) -> [UInt8] {
    Array(
      """
      {"id":"\(id)","app":\(quotedApp),"streamer":{"id":"s1"},"stream":{"id":"b1"},\
      "occurred_at":"\(WallClock.rfc3339(WallClock.nowMilliseconds()))"}
      """.utf8)
  }

  private func topic(_ bed: WorkerBed) -> LetterTopic {
    LetterTopic(
      KafkaOptions(bootstrapServers: bed.bootstrapServers),
      name: IngestOptions().deadLettersTopic
    ) { _ in }
  }

  private func firstLetter(_ bed: WorkerBed) async throws -> LetterSummary {
    let topic = topic(bed)
    return try await bed.until("a dead letter is there") { try await topic.scan().letters.first }
  }

  private func act<T: Sendable>(
    _ bed: WorkerBed, _ body: @Sendable (LetterActs) async throws -> T
  ) async throws -> T {
    let options = KafkaOptions(bootstrapServers: bed.bootstrapServers)
    let producer = try KafkaProducer(options) { _ in }
    defer { producer.close(timeout: .seconds(1)) }
    let (topic, keyspace) = (topic(bed), bed.keyspace)
    return try await bed.withRedis { redis in
      let acts = LetterActs(
        topic, judge: LetterJudge(IngestOptions()),
        marks: LetterMarks(redis: redis, keyspace: keyspace),
        now: { WallClock.nowMilliseconds() }
      ) { (record) async throws(KafkaError) in
        _ = try await producer.send(
          topic: record.topic, key: record.key, value: record.value, headers: record.headers)
      }
      return try await body(acts)
    }
  }

  private func duplicatesAreCounted(_ count: Int, _ bed: WorkerBed) async throws {
    _ = try await bed.until("\(count) duplicates are counted") {
      let total = try bed.redis.cli("HGET", "ff:{stats}:total", "events_duplicate")
      return total == "\(count)" ? true : nil
    }
  }
}
