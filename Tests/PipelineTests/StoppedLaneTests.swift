import Fixtures
import Ingest
import Kafka
import Telemetry
import Testing

@testable import Pipeline

/// A lane whose Redis is closed.
@Suite struct StoppedLaneTests {
  /// Whoever reads the record again notes it: until then its offset must not be committed.
  @Test func notesNoDeadLetterAndSaysSo() async throws {
    let sink = MemorySink()
    let kafka = KafkaOptions(bootstrapServers: "127.0.0.1:1")
    let producer = try KafkaProducer(kafka) { _ in }
    let lane = Lane(
      index: 0, options: PumpBed.options(kafka, sink), producer: producer,
      counters: WorkerCounters())
    await lane.stop()
    let event = """
      {"id":"e1","app":"com.example.live","streamer":{"id":"s1","name":"Aiko"},\
      "stream":{"id":"b1","title":"Speedrun night"},"template":"go-live",\
      "occurred_at":"1970-01-01T00:00:00Z","expires_in":900}
      """
    let message = KafkaMessage(
      topic: PumpBed.topic, partition: 0, offset: 0, key: nil, value: Array(event.utf8),
      timestamp: 0)
    let isNoted = await lane.noteDeadLetter(message, IngestError(.unprocessable, "no set"))
    #expect(!isNoted)
    // Nobody has an event of what cannot be read.
    let nonsense = KafkaMessage(
      topic: PumpBed.topic, partition: 0, offset: 1, key: nil, value: [1], timestamp: 0)
    let isDone = await lane.noteDeadLetter(nonsense, IngestError(.unprocessable, "no event"))
    #expect(isDone)
    lane.end()
    producer.close(timeout: .zero)
  }
}
