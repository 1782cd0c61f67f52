import Fixtures
import Ingest
import Kafka
import Telemetry
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
      try await bed.pump.start()
      await bed.pump.handle(Self.skipped(Self.ingest.segmentsTopic, 3..<8))
      await bed.pump.handle(Self.skipped(Self.ingest.stragglersTopic, 0..<1))
      await bed.pump.handle(Self.skipped(Self.ingest.segmentsTopic, 10..<12))
      try await bed.until("they are looked for") { !bed.lane.recoveries.isEmpty }
      #expect(bed.lane.recoveries.count == 1)
      await bed.pump.handle(Self.skipped(Self.ingest.bulkTopic, 0..<100))
      try await bed.until("they are looked for again") { bed.lane.recoveries.count == 2 }
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

  /// One look ends before the next begins, and what is lost meanwhile is looked for afterwards.
  @Test func looksDoNotOverlap() {
    let (sink, second) = (MemorySink(), Duration.seconds(1).nanoseconds)
    let log = Log(LogOptions(level: .debug, format: .json), sink: sink)
    var losses = RecordLosses(log: log, ingest: Self.ingest, topics: [])
    func lose(_ topic: String, _ time: UInt64) {
      let partition = KafkaPartition(topic: topic, partition: 0)
      losses.note(partition, 0..<1, now: time * second)
      losses.block(partition, 0, Int(time), now: time * second)
    }
    lose(Self.ingest.segmentsTopic, 1)
    #expect(losses.begin(now: 2 * second) == nil)
    #expect(losses.begin(now: 3 * second) == second)
    lose(Self.ingest.bulkTopic, 4)
    #expect(losses.begin(now: 100 * second) == nil, "one is under way")
    #expect(losses.ended(second, again: nil, now: 100 * second).map(\.number) == [1])
    #expect(losses.begin(now: 100 * second) == 4 * second)
    // What is left of it is looked for when that is said.
    #expect(losses.ended(4 * second, again: .seconds(900), now: 100 * second).isEmpty)
    #expect(losses.begin(now: 999 * second) == nil)
    #expect(losses.begin(now: 1000 * second) == 4 * second)
    #expect(losses.ended(4 * second, again: nil, now: 1000 * second).map(\.number) == [4])
    #expect(losses.begin(now: .max) == nil)
    #expect(sink.lines.count { $0.contains("segments are planned again") } == 2)
  }

  /// Nothing else is in their records: their fan-outs are ended when their events are over.
  @Test func stragglersThatAreLostAreOnlySaid() {
    let sink = MemorySink()
    let log = Log(LogOptions(level: .debug, format: .json), sink: sink)
    var losses = RecordLosses(log: log, ingest: Self.ingest, topics: [])
    losses.note(
      KafkaPartition(topic: Self.ingest.stragglersTopic, partition: 0), 0..<1, now: 1)
    #expect(losses.begin(now: .max) == nil)
    #expect(sink.lines.count { $0.contains("end as incomplete") } == 1)
  }

  /// A worker that dies before it has planned lost segments again leaves the gap to the next one.
  @Test func nothingBehindAGapIsCommittedBeforeItsSegmentsArePlannedAgain() async throws {
    try await PumpBed.run { bed in
      let partition = KafkaPartition(topic: Self.ingest.segmentsTopic, partition: 0)
      bed.lane.deferRecoveries(for: .zero)
      try await bed.send(0)
      try await bed.pump.start()
      try await bed.until("it has partitions") { !bed.lane.begun.isEmpty }
      await bed.pump.handle(.skipped(partition, 3..<8))
      await bed.pump.handle(.end(partition, 8))
      try await bed.until("they are looked for") { !bed.lane.recoveries.isEmpty }
      let offered = await bed.pump.offeredOnRevoke()[partition] ?? 0
      #expect(offered <= 3)
      bed.lane.deferRecoveries(for: nil)
      try await bed.until("all before the end is done") {
        await bed.pump.offeredOnRevoke()[partition] == 8
      }
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
