import Ingest
import Kafka
import LocalStack
import Testing

@Suite struct GoLiveEventTests {
  @Test func aWorkerTakesItForAnEvent() {
    let now: Int64 = 1_795_248_000_000
    let written = GoLiveEvent(id: "e-1", streamer: "aiko")
    let message = KafkaMessage(
      topic: "notify-followers", partition: 0, offset: 0, key: Array("aiko".utf8),
      value: Array(written.json(occurredAt: now).serialized().utf8))
    let stage = IngestStage(options: IngestOptions())
    let result = stage.decode(message, now: now)
    guard case .event(let event) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(event.id == "e-1")
    #expect(event.streamer == "aiko")
    #expect(event.app == LocalStack.app)
  }
}
