import Ingest
import Kafka
import Testing

@testable import Pipeline

/// What the pump does when Kafka has thrown records away that nobody had read.
@Suite(.serialized) struct PumpLossTests {
  private static let ingest = IngestOptions()

  private static func skipped(_ topic: String, _ offsets: Range<Int64>) -> KafkaPoll {
    .skipped(KafkaPartition(topic: topic, partition: 0), offsets)
  }

  @Test func whatIsLostIsCountedAndSegmentsAreLookedForTogether() async throws {
    try await PumpBed.run { bed in
      let all = await bed.pump.skipped
      #expect(Set(all.keys).count == 4 && all.values.allSatisfy { $0 == 0 })
      await bed.pump.handle(Self.skipped(Self.ingest.segmentsTopic, 3..<8))
      await bed.pump.handle(Self.skipped(Self.ingest.stragglersTopic, 0..<1))
      await bed.pump.handle(Self.skipped(Self.ingest.segmentsTopic, 10..<12))
      try await bed.until("they are looked for") { !bed.lane.recoveries.isEmpty }
      #expect(bed.lane.recoveries == [true])
      await bed.pump.handle(Self.skipped(Self.ingest.bulkTopic, 0..<100))
      try await bed.until("they are looked for again") { bed.lane.recoveries.count == 2 }
      #expect(bed.lane.recoveries == [true, false])
      let counts = await bed.pump.skipped
      #expect(counts[Self.ingest.segmentsTopic] == 7 && counts[Self.ingest.stragglersTopic] == 1)
      #expect(counts[Self.ingest.bulkTopic] == 100 && counts[Self.ingest.eventsTopic] == 0)
    }
  }

  @Test func lostEventsAreSaid() async throws {
    try await PumpBed.run { bed in
      await bed.pump.handle(Self.skipped(Self.ingest.eventsTopic, 5..<7))
      #expect(await bed.pump.skipped[Self.ingest.eventsTopic] == 2)
      let lines = bed.sink.lines.filter { $0.contains("nobody is told of them") }
      #expect(lines.count == 1 && lines[0].contains("\"records\":2"))
      #expect(lines[0].contains("\"first\":5"))
    }
  }

  @Test func theEndOfAPartitionIsCommitted() async throws {
    try await PumpBed.run { bed in
      let place = PumpBed.place(0, 0)
      try await bed.send(0)
      try await bed.pump.start()
      try await bed.until("it runs") { bed.lane.begun == [place] }
      await bed.pump.handle(.end(place.partition, 9))
      #expect(await bed.pump.offeredOnRevoke() == [:])
      bed.lane.end(place)
      try await bed.until("all before the end is done") {
        await bed.pump.offeredOnRevoke() == [place.partition: 9]
      }
      // What is left to others when a worker stops is not passed over.
      _ = await bed.pump.drain(timeout: .zero)
      await bed.pump.handle(.end(place.partition, 20))
      #expect(await bed.pump.offeredOnRevoke() == [place.partition: 9])
    }
  }
}
