import Kafka
import Testing

/// Reading without a group, from the embedded broker.
@Suite struct ReaderTests {
  private static let topic = "letters"

  private func options(_ broker: EmbeddedBroker) -> KafkaOptions {
    var options = KafkaOptions(bootstrapServers: broker.bootstrapServers)
    options.fetchWaitMaximum = .milliseconds(10)
    return options
  }

  private func broker(holding count: Int) async throws -> EmbeddedBroker {
    let broker = try EmbeddedBroker(topics: [(Self.topic, 2)])
    let producer = try KafkaProducer(options(broker)) { _ in }
    defer { producer.close(timeout: .seconds(1)) }
    for number in 0..<count {
      _ = try await producer.send(
        topic: Self.topic, partition: 0, key: nil, value: Array("\(number)".utf8),
        headers: [KafkaHeader("name", "value")])
    }
    return broker
  }

  private func values(
    _ reader: KafkaReader, _ range: Range<Int64>, atMost limit: Int = .max
  ) throws -> (values: [String], isWhole: Bool) {
    var values: [String] = []
    let isWhole = try reader.read(0, range, until: .now + .seconds(30)) { message in
      values.append(String(decoding: message.value ?? [], as: UTF8.self))
      return values.count < limit
    }
    return (values, isWhole)
  }

  @Test func aRangeIsReadWhateverWasReadBefore() async throws {
    let broker = try await broker(holding: 20)
    let reader = try KafkaReader(options(broker), topic: Self.topic) { _ in }
    #expect(try reader.bounds(timeout: .seconds(30)) == [0: 0..<20, 1: 0..<0])
    for range in [Int64(15)..<20, 3..<5, 3..<5, 0..<1] {
      let (values, isWhole) = try values(reader, range)
      #expect(values == range.map { "\($0)" } && isWhole)
    }
  }

  @Test func readingEndsWithThePartition() async throws {
    let broker = try await broker(holding: 3)
    let reader = try KafkaReader(options(broker), topic: Self.topic) { _ in }
    #expect(try values(reader, 1..<100).values == ["1", "2"])
    #expect(try values(reader, 5..<5).values == [])
    let isWhole = try reader.read(1, 0..<5, until: .now + .seconds(30)) { _ in false }
    #expect(isWhole, "an empty partition")
  }

  @Test func whoeverTakesTheRecordsMayEndTheReading() async throws {
    let broker = try await broker(holding: 5)
    let reader = try KafkaReader(options(broker), topic: Self.topic) { _ in }
    let (values, isWhole) = try values(reader, 0..<5, atMost: 2)
    #expect(values == ["0", "1"] && !isWhole)
  }

  @Test func aMissingTopicIsNotCreated() async throws {
    let broker = try await broker(holding: 1)
    let reader = try KafkaReader(options(broker), topic: "missing") { _ in }
    for _ in 0..<2 {
      #expect { try reader.bounds(timeout: .seconds(30)) } throws: { error in
        (error as? KafkaError)?.code == .unknownTopic
      }
    }
  }

  @Test func aDeadlineEndsTheWaitForABrokerThatIsAway() async throws {
    let broker = try await broker(holding: 1)
    let reader = try KafkaReader(options(broker), topic: Self.topic) { _ in }
    _ = try reader.bounds(timeout: .seconds(30))
    broker.setDown(true)
    let isWhole = try reader.read(0, 0..<1, until: .now + .milliseconds(300)) { _ in true }
    #expect(!isWhole)
  }
}
