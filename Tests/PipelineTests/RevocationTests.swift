import EventLoop
import Ingest
import Kafka
import Testing

@testable import Pipeline

/// What the group wants back: given up when it is done, or when the group has waited long enough.
@Suite struct RevocationTests {
  private static let first = KafkaPartition(topic: "events", partition: 0)
  private static let second = KafkaPartition(topic: "events", partition: 1)

  private func running(_ partition: KafkaPartition) -> RunningRecords {
    var running = RunningRecords()
    let message = KafkaMessage(
      topic: partition.topic, partition: partition.partition, offset: 7, key: nil, value: nil)
    _ = running.begin(.init(message: message, number: 1), .event, lane: 0)
    return running
  }

  @Test func isDoneWhenNothingOfItRuns() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      let revocation = Revocation(loop: loop, timeout: .seconds(60))
      #expect(!revocation.isDone(RunningRecords()), "nobody wants anything")
      #expect(!revocation.end())
      revocation.begin([Self.first]) {}
      #expect(!revocation.isDone(running(Self.first)))
      #expect(revocation.isDone(running(Self.second)))
      #expect(revocation.isDone(RunningRecords()))
      #expect(revocation.end())
      #expect(!revocation.end(), "once")
    }
  }

  @Test func theGroupDoesNotWaitForEver() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      let revocation = Revocation(loop: loop, timeout: .milliseconds(2))
      await withCheckedContinuation { continuation in
        revocation.begin([Self.first]) { continuation.resume() }
      }
      #expect(revocation.end())
    }
  }

  @Test func whatIsGivenUpOrGoneIsWaitedForNoLonger() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      let revocation = Revocation(loop: loop, timeout: .milliseconds(2))
      var calls = 0
      revocation.begin([Self.first]) { calls += 1 }
      _ = revocation.end()
      revocation.begin([Self.first, Self.second]) { calls += 1 }
      revocation.revoked([Self.first])
      #expect(revocation.partitions == [Self.second])
      revocation.revoked([Self.second])
      #expect(!revocation.end())
      await loop.wait(.milliseconds(10))
      #expect(calls == 0)
    }
  }
}
