import Testing

@testable import ServerProcesses

/// Topics as `fanfare broker --topics` takes them.
@Suite struct BrokerTopicTests {
  @Test func readsNameAndPartitions() {
    let topic = BrokerTopic("notify-followers.segments:8")
    #expect(topic == BrokerTopic(name: "notify-followers.segments", partitions: 8))
    #expect(topic?.description == "notify-followers.segments:8")
  }

  @Test(arguments: ["", "a", "a:", ":1", "a:0", "a:1001", "a:1:2", "a b:1", ".:1", "..:1", "a:x"])
  func refusesWhatKafkaWouldNotTake(text: String) {
    #expect(BrokerTopic(text[...]) == nil)
  }
}
