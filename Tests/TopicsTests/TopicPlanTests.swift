import Ingest
import Kafka
import Testing

@testable import Topics

@Suite struct TopicPlanTests {
  private static let day = 86_400_000

  private func plan(
    _ ingest: IngestOptions = IngestOptions(), workers: Int = 4, lanes: Int = 2, replicas: Int = 3
  ) -> [KafkaTopic] {
    TopicPlan(ingest, workers: workers, lanes: lanes, replicas: replicas).topics
  }

  @Test func theTopicsAreThoseOfTheSettings() {
    var ingest = IngestOptions()
    #expect(
      plan(ingest).map(\.name)
        == [
          "notify-followers", "notify-followers.segments", "notify-followers.segments.bulk",
          "notify-followers.stragglers", "notify-followers.dead-letters",
        ])
    ingest.tokensTopic = "news"
    #expect(plan(ingest).last?.name == "news" && plan(ingest).last?.partitions == 4)
    ingest.outcomesTopic = "outcomes"
    #expect(plan(ingest).map(\.name).suffix(2) == ["news", "outcomes"])
    #expect(plan(ingest).last?.configuration["retention.ms"] == "\(7 * Self.day)")
  }

  @Test(arguments: [
    (1, 1, [4, 16, 16, 4, 1]), (4, 4, [4, 16, 16, 4, 1]), (16, 2, [16, 32, 32, 16, 1]),
    (5, 8, [5, 40, 40, 5, 1]),
  ])
  func everyLaneOfEveryWorkerHasSegments(workers: Int, lanes: Int, partitions: [Int]) {
    #expect(plan(workers: workers, lanes: lanes).map(\.partitions) == partitions)
  }

  /// A day longer than an event lives, and less than Redis remembers what is done.
  @Test(arguments: [(1, 86_400 + 3_600), (24, 2 * 86_400), (24 * 30, 6 * 86_400)])
  func whatWorkersReadIsKeptWhileItIsOfUse(hours: Int, seconds: Int) {
    var ingest = IngestOptions()
    ingest.maximumExpirySeconds = Int64(hours * 3_600)
    let kept = plan(ingest).map { $0.configuration["retention.ms"] ?? "" }
    #expect(kept[..<4].allSatisfy { $0 == "\(seconds * 1000)" }, "\(kept)")
    #expect(kept[4] == "\(14 * Self.day)")
  }

  @Test(arguments: [(1, "1"), (2, "1"), (3, "2"), (5, "2")])
  func oneBrokerMayBeAway(replicas: Int, inSync: String) {
    for topic in plan(replicas: replicas) {
      #expect(topic.replicas == replicas)
      #expect(topic.configuration["min.insync.replicas"] == inSync)
      #expect(topic.configuration["cleanup.policy"] == "delete")
    }
  }

  @Test func theCommandSaysAllOfIt() {
    let topic = KafkaTopic(
      "t", partitions: 4, replicas: 3, configuration: ["retention.ms": "5", "cleanup.policy": "x"])
    let commands = TopicCommands(bootstrapServers: ["a:1", "b:2"])
    #expect(
      commands.create(topic)
        == "kafka-topics.sh --bootstrap-server a:1,b:2 --create --if-not-exists --topic t "
        + "--partitions 4 --replication-factor 3 --config cleanup.policy=x --config retention.ms=5")
    #expect(
      commands.mend(TopicDifference(name: "partitions", found: "1", wanted: "4"), of: "t")
        == "kafka-topics.sh --bootstrap-server a:1,b:2 --alter --topic t --partitions 4")
    #expect(
      commands.mend(TopicDifference(name: "retention.ms", found: "1", wanted: "4"), of: "t")
        == "kafka-configs.sh --bootstrap-server a:1,b:2 --alter --entity-type topics "
        + "--entity-name t --add-config retention.ms=4")
  }
}

@Suite struct TopicDifferenceTests {
  private static let week = 7 * 86_400_000

  private func names(
    partitions: Int = 4, replicas: Int = 3, isWork: Bool = true, _ found: [String: String]
  ) -> [String] {
    let topic = KafkaTopic(
      "t", partitions: 4, replicas: 3,
      configuration: [
        "cleanup.policy": "delete", "retention.ms": "1000", "min.insync.replicas": "2",
      ])
    return TopicDifference.all(
      of: topic, isWork: isWork, partitions: partitions, replicas: replicas, configuration: found
    ).map(\.name)
  }

  @Test func whatIsAsItShouldBeIsNoDifference() {
    #expect(
      names(["cleanup.policy": "delete", "retention.ms": "1000", "min.insync.replicas": "2"]) == [])
    #expect(names(partitions: 9, replicas: 4, [:]) == [])
  }

  @Test func whatLosesRecordsIsOne() {
    #expect(names(partitions: 3, replicas: 2, [:]) == ["partitions", "replication factor"])
    #expect(
      names(["cleanup.policy": "compact", "retention.ms": "999", "min.insync.replicas": "1"])
        == ["cleanup.policy", "min.insync.replicas", "retention.ms"])
  }

  /// What workers read comes again after Redis has forgotten it; dead letters may be kept for ever.
  @Test func longerThanRedisRemembersIsOneOfWork() {
    #expect(names(["retention.ms": "\(Self.week)"]) == [])
    #expect(names(["retention.ms": "\(Self.week + 1)"]) == ["retention.ms"])
    #expect(names(["retention.ms": "-1"]) == ["retention.ms"])
    #expect(names(isWork: false, ["retention.ms": "-1"]) == [])
    #expect(names(isWork: false, ["retention.ms": "\(Self.week + 1)"]) == [])
    #expect(names(isWork: false, ["retention.ms": "999"]) == ["retention.ms"])
  }
}
