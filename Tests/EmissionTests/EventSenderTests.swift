import Ingest
import Kafka
import Processes
import Terminal
import Testing

@testable import Emission

/// What Kafka gets, and what is said when it takes nothing.
@Suite struct EventSenderTests {
  private static func events(_ ids: [String]) throws -> [ReadEvent] {
    let reader = EventReader(options: IngestOptions(), now: 1_795_248_000_000)
    return try ids.map { id in
      try reader.read(
        flags: Array(
          (#"{"id":"\#(id)","app":"com.example.live","streamer":{"id":"s-\#(id)"},"#
            + #""stream":{"id":"b"},"occurred_at":"2026-11-21T08:00:00Z","expires_in":2592000}"#)
            .utf8))
    }
  }

  @Test func saysWhereEachEventIs() async throws {
    let broker = try EmbeddedBroker(topics: [(name: "events", partitions: 1)])
    let sender = EventSender(
      KafkaOptions(bootstrapServers: broker.bootstrapServers), topic: "events",
      timeout: .seconds(30))
    var told: [String] = []
    try await sender.send(try Self.events(["a", "b"])) { event, delivery in
      told.append("\(event.name) \(delivery.partition) \(delivery.offset)")
    }
    #expect(told == ["a 0 0", "b 0 1"])
    withExtendedLifetime(broker) {}
  }

  @Test func withoutABrokerItSaysThatItIsAway() async throws {
    let port = try LocalPort.findFree()
    let sender = EventSender(
      KafkaOptions(bootstrapServers: "127.0.0.1:\(port)"), topic: "events",
      timeout: .milliseconds(200))
    let events = try Self.events(["a"])
    let failure = await #expect(throws: CommandFailure.self) {
      try await sender.send(events) { _, _ in Issue.record("nobody has it") }
    }
    #expect(failure?.code == .unavailable)
  }
}
