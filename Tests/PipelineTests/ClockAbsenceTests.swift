import EventLoop
import Fixtures
import Kafka
import Testing

@testable import Pipeline

/// A worker that leaves its group because its clock is ahead.
@Suite struct ClockAbsenceTests {
  /// Its return would cost the group a rebalance, for a worker that takes nothing any more.
  @Test(arguments: [false, true]) func comesBackUnlessItStops(isStopped: Bool) async throws {
    try await EventLoop.temporary("test") {
      (lane: isolated LoopActor, loop: EventLoop) async throws in
      let kafka = KafkaOptions(bootstrapServers: "127.0.0.1:1")
      let consumer = try KafkaConsumer(kafka, topics: ["t"]) { _ in }
      defer { consumer.close(timeout: .zero) }
      let sink = MemorySink()
      let absence = ClockAbsence(
        options: PumpBed.options(kafka, sink), loop: loop, consumer: consumer,
        shortest: .milliseconds(1))
      absence.begin(ahead: .seconds(90), "an event")
      // An operator who has one worker must not take it for one that others stand in for.
      #expect(sink.lines.contains { $0.contains("events wait where it is the only worker") })
      #expect(absence.obstacle?.contains("90 s") == true)
      if isStopped { absence.stop() }
      // Timers of one loop end in the order of their time.
      await loop.wait(.milliseconds(1))
      #expect((absence.obstacle != nil) == isStopped)
    }
  }

  /// Somebody has set the clocks, long before the worker would try again by itself.
  @Test(arguments: [false, true]) func comesBackWhenTheClocksAgree(isStopped: Bool) async throws {
    try await EventLoop.temporary("test") {
      (lane: isolated LoopActor, loop: EventLoop) async throws in
      let kafka = KafkaOptions(bootstrapServers: "127.0.0.1:1")
      let consumer = try KafkaConsumer(kafka, topics: ["t"]) { _ in }
      defer { consumer.close(timeout: .zero) }
      let absence = ClockAbsence(
        options: PumpBed.options(kafka, MemorySink()), loop: loop, consumer: consumer)
      absence.compared(ahead: .zero)
      absence.begin(ahead: .seconds(90), "an event")
      absence.compared(ahead: .seconds(60))
      #expect(absence.obstacle != nil)
      if isStopped { absence.stop() }
      absence.compared(ahead: .seconds(59))
      #expect((absence.obstacle != nil) == isStopped)
      absence.stop()
    }
  }
}
