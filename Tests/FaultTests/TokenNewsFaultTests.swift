import Glibc
import Kafka
import Pipeline
import Record
import TestBed
import Testing

/// Workers that die between what Redis and what Kafka is told of a token.
@Suite(.serialized) struct TokenNewsFaultTests {
  private static let topic = "notify-followers.tokens"
  private static let living = (0..<200).map { paddedHex($0) }
  private static let gone = (0..<30).map { "fa4efa4e0410" + paddedHex($0).dropFirst(12) }

  private static func tell(_ options: inout PipelineOptions) {
    options.ingest.tokensTopic = topic
    options.record.tellsTokens = true
  }

  /// How often each gone token was told.
  private static func told(_ bed: WorkerBed) throws -> [String: Int] {
    var options = KafkaOptions(bootstrapServers: bed.bootstrapServers)
    options.group = "news"
    let consumer = try KafkaConsumer(options, topics: [topic]) { _ in }
    defer { _ = consumer.close(timeout: .seconds(5)) }
    try consumer.subscribe()
    let wanted = try bed.records(of: topic)
    var counts: [String: Int] = [:]
    for _ in 0..<300 where counts.values.reduce(0, +) < wanted {
      guard case .message(let message)? = consumer.poll(timeout: .milliseconds(100)) else {
        continue
      }
      let text = String(decoding: message.value ?? [], as: UTF8.self)
      #expect(text.contains(#""type":"token.pruned""#) && text.contains(#""event":"e1""#))
      let token = gone.first { text.contains("\"token\":\"\($0)\"") }
      counts[token ?? text, default: 0] += 1
    }
    return counts
  }

  @Test func eachTokenThatIsGoneIsToldOnce() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: Self.living + Self.gone)
    let worker = try await bed.startWorker(Self.tell)
    try await bed.ready()
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(await worker.stop())
    #expect(status.pruned == Self.gone.count && status.accepted == Self.living.count)
    let told = try Self.told(bed)
    #expect(Set(told.keys) == Set(Self.gone) && told.values.allSatisfy { $0 == 1 })
  }

  /// It has taken the tokens out, and Kafka has not taken a word of it.
  @Test func whatAWorkerThatIsKilledHasNotToldItsHeirTells() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: Self.living + Self.gone)
    try await FreezingBroker.run(before: bed.bootstrapServers) { broker in
      let doomed = try await bed.startProcess(
        "doomed", executable: WorkerExecutable.path,
        settings: [
          "kafka.bootstrap_servers=\(broker.bootstrapServers)", "kafka.topics.tokens=\(Self.topic)",
        ])
      await broker.freeze(afterProduceRequests: 1)
      try await bed.emit("e1")
      _ = try await bed.until("Kafka is told, and stands still") {
        await broker.isFrozen ? true : nil
      }
      #expect(doomed.stop(SIGKILL) == 128 + SIGKILL)
      await broker.thaw()
    }
    #expect(try await bed.status("e1")?.state == .running)
    let heir = try await bed.startWorker(Self.tell)
    let status = try await bed.finished("e1")
    #expect(await heir.stop())
    #expect(status.state == .done)
    let told = try Self.told(bed)
    #expect(Set(told.keys) == Set(Self.gone))
    #expect(bed.sink.lines.contains { $0.contains("left behind when it died are published") })
  }
}
