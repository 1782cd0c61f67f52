import Kafka
import Testing

@testable import Pipeline

@Suite struct RunningRecordsTests {
  private func message(_ offset: Int64, value: [UInt8] = [1]) -> KafkaMessage {
    KafkaMessage(
      topic: "t", partition: 3, offset: offset, key: nil, value: value, timestamp: 5)
  }

  @Test func aRecordThatComesAgainJoinsItsRun() {
    var running = RunningRecords()
    let first = running.begin(.init(message: message(7), number: 1), .segment, lane: 0)
    let joined = running.join(message(7), number: 9)
    #expect(joined)
    let other = running.join(message(8), number: 10)
    #expect(!other)
    #expect(running.end(first)?.number == 9)
    let gone = running.join(message(7), number: 11)
    #expect(!gone && running.isEmpty)
  }

  @Test func anotherRecordAtTheSameOffsetIsNoRepetition() {
    var running = RunningRecords()
    let first = running.begin(.init(message: message(7), number: 1), .segment, lane: 0)
    let joined = running.join(message(7, value: [2]), number: 2)
    #expect(!joined)
    let second = running.begin(
      .init(message: message(7, value: [2]), number: 2), .segment, lane: 1)
    #expect(running.end(first)?.number == 1)
    // The end of the first leaves the second to be found.
    let again = running.join(message(7, value: [2]), number: 3)
    #expect(again)
    #expect(running.end(second)?.number == 3)
  }

  @Test func aPlaceIsGivenBackOnce() {
    var running = RunningRecords()
    let run = running.begin(.init(message: message(7), number: 1), .straggler, lane: 2)
    #expect(running.contains(anyOf: [KafkaPartition(topic: "t", partition: 3)]))
    #expect(!running.contains(anyOf: [KafkaPartition(topic: "t", partition: 4)]))
    let slot = running.releaseSlot(run)
    #expect(slot?.kind == .straggler && slot?.lane == 2)
    #expect(running.releaseSlot(run) == nil)
    #expect(running.count == 1)
    _ = running.end(run)
    #expect(running.releaseSlot(run) == nil)
    #expect(running.end(run) == nil)
  }
}
