import Settings
import Testing

@testable import Checks
@testable import Kafka

@Suite struct KafkaExaminationTests {
  private static let names = Settings.defaults.kafka.topics

  private func found(
    lanes: Int = 2, _ body: (KafkaExamination, inout CheckList) -> Void
  ) -> [CheckItem] {
    var settings = Settings.defaults
    settings.lanes.count = lanes
    var list = CheckList(deniesWarnings: false)
    body(KafkaExamination(settings, for: .worker), &list)
    return list.items
  }

  private func topic(
    replicas: Int, brokers: Int, _ configuration: [String: String] = [:]
  ) -> [CheckItem] {
    let kept = configuration.merging(["retention.ms": "-1"]) { given, _ in given }
    return found { $0.check("a", replicas: replicas, brokers: brokers, kept, &$1) }
  }

  private func status(_ id: String, _ items: [CheckItem]) -> CheckItem.Status? {
    items.first { $0.id == id }?.status
  }

  @Test func threeOfAllAreWell() {
    let items = topic(replicas: 3, brokers: 3, ["min.insync.replicas": "2"])
    #expect(items.allSatisfy { $0.status == .ok && $0.subject == "a" }, "\(items)")
    #expect(found { $0.brokers(3, &$1) }.map(\.status) == [.ok])
    #expect(found { $0.brokers(2, &$1) }.map(\.status) == [.warning])
  }

  @Test func fewReplicasAreWarnedOfWhereThereAreMoreBrokers() throws {
    let items = topic(replicas: 1, brokers: 3)
    #expect(status("kafka.replication", items) == .warning)
    #expect(items.first?.message.contains("1 replica on 3 brokers, and 3 are wanted") == true)
    #expect(status("kafka.replication", topic(replicas: 1, brokers: 1)) == .ok)
    #expect(status("kafka.replication", topic(replicas: 2, brokers: 2)) == .ok)
  }

  @Test(arguments: [
    (3, 2, CheckItem.Status.ok), (3, 1, .warning), (3, 3, .warning), (3, 4, .problem), (1, 1, .ok),
    (2, 1, .ok), (1, 2, .problem),
  ])
  func replicasInSyncLeaveOneToBeAway(replicas: Int, inSync: Int, wanted: CheckItem.Status) {
    let items = topic(replicas: replicas, brokers: 3, ["min.insync.replicas": "\(inSync)"])
    #expect(status("kafka.min_insync_replicas", items) == wanted, "\(items)")
  }

  @Test func electionsOfBrokersThatLackRecordsAreWarnedOf() {
    let unclean = ["unclean.leader.election.enable": "true"]
    #expect(
      status("kafka.unclean_election", topic(replicas: 3, brokers: 3, unclean)) == .warning)
    #expect(status("kafka.unclean_election", topic(replicas: 3, brokers: 3)) == nil)
  }

  @Test func retentionIsWellOnceOnly() {
    let short = topic(replicas: 3, brokers: 3, ["retention.ms": "60000"])
    #expect(status("kafka.retention", short) == nil)
    #expect(status("kafka.retention", topic(replicas: 3, brokers: 3)) == .ok)
  }

  @Test func recordsMustHoldTheirEvents() throws {
    func size(_ topic: String, _ bytes: Int, of others: Int = 1 << 20) -> CheckItem? {
      let own = ["max.message.bytes": "\(bytes)"]
      let known = [Self.names.events: ["max.message.bytes": "\(others)"], topic: own]
      return found { $0.size(topic, own, known, &$1) }.first
    }
    // 64 KiB, and 16 KiB of overhead.
    #expect(size(Self.names.segments, 80 << 10)?.status == .ok)
    let small = try #require(size(Self.names.segments, (80 << 10) - 1))
    #expect(small.status == .problem && small.message.contains("80.0 KiB are wanted"))
    #expect(small.hint?.contains("max.message.bytes=81920") == true)
    #expect(size(Self.names.deadLetters, 80 << 10)?.status == .problem)
    #expect(size(Self.names.deadLetters, 1 << 20)?.status == .ok)
    #expect(size(Self.names.deadLetters, 80 << 10, of: 1 << 10)?.status == .ok)
  }

  @Test func eachLaneWantsAPartition() throws {
    let names = Self.names
    func partitions(_ count: Int, members: Int) -> [CheckItem] {
      let information = KafkaClusterInfo(
        brokers: ["a:1"],
        partitions: [
          names.events: 4, names.segments: count, names.bulkSegments: count, names.stragglers: 4,
        ], replicas: [:], failures: [:])
      return found(lanes: 2) { $0.partitions(information, members: members, &$1) }
    }
    #expect(partitions(8, members: 4).isEmpty)
    let few = partitions(7, members: 4)
    #expect(few.map(\.status) == [.warning, .warning])
    #expect(few.map(\.subject) == [names.segments, names.bulkSegments])
    #expect(few.first?.message.contains("7 partitions for 4 workers with 2 lanes each: 8") == true)
    #expect(partitions(64, members: 5).map(\.subject) == [names.events, names.stragglers])
    // Nobody is there: this worker will be.
    #expect(partitions(2, members: 0).isEmpty)
  }

  @Test(arguments: [
    ("Stable", CheckItem.Status.ok), ("Empty", .skipped), ("Dead", .skipped),
    ("PreparingRebalance", .warning), ("CompletingRebalance", .warning),
  ])
  func groupsAreWellWhenTheyWork(state: String, wanted: CheckItem.Status) {
    let items = found { $0.judge(KafkaGroup(state: state, members: ["a/1"]), &$1) }
    #expect(items.map(\.status) == [wanted])
  }

  @Test func recordsThatNobodyReadsAreWarnedOf() {
    #expect(found { $0.judge(1, "a", 0, &$1) }.map(\.status) == [.warning])
    #expect(found { $0.judge(0, "a", 0, &$1) }.map(\.status) == [.ok])
    #expect(found { $0.judge(9, "a", 1, &$1) }.map(\.status) == [.ok])
    #expect(found { $0.judge(9, "a", nil, &$1) }.map(\.status) == [.ok])
  }
}
