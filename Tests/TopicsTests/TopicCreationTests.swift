import Ingest
import Kafka
import ServerProcesses
import Testing

@testable import Topics

@Suite(.enabled(if: RealKafka.home != nil, "FANFARE_KAFKA_HOME names no Apache Kafka"))
struct TopicCreationTests {
  /// Names that no other test has: they share the broker.
  private static func options(_ prefix: String) -> IngestOptions {
    var options = IngestOptions()
    options.eventsTopic = prefix
    options.segmentsTopic = prefix + ".segments"
    options.bulkTopic = prefix + ".bulk"
    options.stragglersTopic = prefix + ".stragglers"
    options.deadLettersTopic = prefix + ".dead-letters"
    options.tokensTopic = prefix + ".tokens"
    return options
  }

  @Test func makesWhatIsMissingAndSaysWhatDiffers() throws {
    let kafka = try RealKafka()
    var options = KafkaOptions(bootstrapServers: kafka.bootstrapServers)
    options.clientID = "topics"
    let admin = KafkaAdmin(options, log: { _ in })
    // One that somebody made before, by Kafka's defaults. Waits for a broker that has just begun.
    try kafka.createTopics([("made-here.stragglers", 1)], as: options)
    let plan = TopicPlan(Self.options("made-here"), workers: 4, lanes: 1, replicas: 1)
    let first = try TopicCreation(admin, plan).run(timeout: .seconds(60))
    #expect(first.map(\.topic.name) == plan.topics.map(\.name))
    for (topic, result) in first {
      if topic.name == "made-here.stragglers" {
        #expect(
          result
            == .existed([
              TopicDifference(name: "partitions", found: "1", wanted: "4")
              // Kafka's own default is a week, which is as long as Redis remembers.
            ]))
      } else {
        #expect(result == .created, "\(topic.name)")
      }
    }
    // A broker may answer before it knows itself what it has made.
    let deadline = ContinuousClock.now + .seconds(60)
    var again: [TopicCreation.Result] = []
    repeat {
      again = try TopicCreation(admin, plan).run(timeout: .seconds(60)).map(\.1)
    } while again.count { $0 == .existed([]) } < 5 && ContinuousClock.now < deadline
    #expect(again.count { $0 == .existed([]) } == 5, "\(again)")
    let (known, failures) = try admin.configuration(
      ofTopics: ["made-here", "nowhere"], timeout: .seconds(60))
    #expect(known["made-here"]?["retention.ms"] == "\(6 * 86_400_000)")
    #expect(known["made-here"]?["cleanup.policy"] == "delete")
    #expect(known["nowhere"] == nil && failures["nowhere"]?.code == .unknownTopic)
  }

  @Test func saysWhyATopicCannotBeMade() throws {
    let kafka = try RealKafka()
    let options = KafkaOptions(bootstrapServers: kafka.bootstrapServers)
    let plan = TopicPlan(Self.options("too-many"), workers: 1, lanes: 1, replicas: 3)
    let results = try TopicCreation(KafkaAdmin(options, log: { _ in }), plan)
      .run(timeout: .seconds(60))
    for case .failed(let error) in results.map(\.1) {
      #expect(error.description.lowercased().contains("replication factor"), "\(error)")
    }
    #expect(results.allSatisfy { if case .failed = $0.1 { true } else { false } })
  }
}
