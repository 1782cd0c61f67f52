import JSON
import Kafka
import Pipeline
import TestBed
import Testing

/// What became of pushes and fan-outs, on a topic for the backend.
@Suite(.serialized) struct OutcomeTopicTests {
  private static let topic = "notify-followers.outcomes"
  private static let living = (0..<300).map { paddedHex($0) }
  private static let gone = (0..<20).map { "fa4efa4e0410" + paddedHex($0).dropFirst(12) }

  private static func publish(share: Double) -> (inout PipelineOptions) -> Void {
    return {
      $0.ingest.outcomesTopic = topic
      $0.outcomeShare = share
    }
  }

  /// All that is on the topic.
  private static func records(_ bed: WorkerBed) throws -> [(key: String, JSONObject)] {
    var options = KafkaOptions(bootstrapServers: bed.bootstrapServers)
    options.group = "analytics"
    let consumer = try KafkaConsumer(options, topics: [topic]) { _ in }
    defer { _ = consumer.close(timeout: .seconds(5)) }
    try consumer.subscribe()
    let wanted = try bed.records(of: topic)
    var records: [(String, JSONObject)] = []
    for _ in 0..<1_000 where records.count < wanted {
      guard case .message(let message)? = consumer.poll(timeout: .milliseconds(100)) else {
        continue
      }
      let object = try #require(try JSONValue.parse(message.value ?? []).object)
      records.append((String(decoding: message.key ?? [], as: UTF8.self), object))
    }
    return records
  }

  @Test func eachPushAndTheFanOutAreToldOnceAndAsRedisCountsThem() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: Self.living + Self.gone)
    let worker = try await bed.startWorker(Self.publish(share: 1))
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(await worker.stop())
    let records = try Self.records(bed)
    let pushes = records.filter { $0.1["type"] == "push.outcome" }
    #expect(pushes.count == status.pushes)
    #expect(Set(pushes.compactMap { $0.1["id"]?.string }).count == status.pushes)
    #expect(pushes.count { $0.1["outcome"] == "accepted" } == status.accepted)
    let rejected = pushes.filter { $0.1["outcome"] == "rejected" }
    #expect(rejected.count == Self.gone.count)
    #expect(rejected.allSatisfy { $0.1["reason"] == "Unregistered" && $0.1["attempts"] == 1 })
    #expect(pushes.allSatisfy { .string($0.key) == $0.1["user"] && $0.1["event"] == "e1" })
    let ends = records.filter { $0.1["type"] == "fanout.ended" }
    #expect(ends.count == 1 && ends.first?.key == "e1")
    #expect(ends.first?.1["state"] == "done")
    #expect(ends.first?.1["accepted"]?.integer == Int64(status.accepted))
    #expect(worker.counters.snapshot()[.outcomes] == records.count)
    #expect(worker.counters.snapshot()[.outcomesLost] == 0)
  }

  @Test func withoutRecipientsOnlyFanOutsAreTold() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: Self.living)
    let worker = try await bed.startWorker(Self.publish(share: 0))
    try await bed.emit("e1")
    try await bed.emit("e2", streamer: "nobody")
    _ = try await bed.finished("e1")
    _ = try await bed.finished("e2")
    #expect(await worker.stop())
    let records = try Self.records(bed)
    #expect(records.map(\.key).sorted() == ["e1", "e2"])
    #expect(records.allSatisfy { $0.1["type"] == "fanout.ended" })
  }
}
