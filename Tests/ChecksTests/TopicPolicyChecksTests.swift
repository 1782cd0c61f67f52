import Ingest
import Kafka
import Settings
import Testing
import Topics

@testable import Checks

/// What a topic forgets beside how long an event may be of use.
@Suite struct TopicPolicyChecksTests {
  private static let names = Settings.defaults.kafka.topics

  private func found(
    _ topic: String, _ policy: TopicPolicy, _ settings: Settings = .defaults
  ) -> [CheckItem] {
    var list = CheckList(deniesWarnings: false)
    TopicPolicyChecks(settings).check(topic, policy, &list)
    return list.items
  }

  private func kept(for retention: Duration?) -> TopicPolicy {
    TopicPolicy(isCompacted: false, retention: retention, retentionBytes: nil)
  }

  /// Seven days are Kafka's default, and how long Redis knows events.
  @Test(arguments: [nil, .seconds(7 * 86_400)] as [Duration?])
  func whatKeepsRecordsLongEnoughIsWell(_ retention: Duration?) {
    for topic in [Self.names.events, Self.names.segments, Self.names.stragglers] {
      #expect(found(topic, kept(for: retention)).isEmpty)
    }
  }

  @Test func theTopicsOfThePlanAreWell() throws {
    for topic in TopicPlan(IngestOptions(), workers: 4, lanes: 1, replicas: 3).topics {
      let retention = try #require(topic.configuration["retention.ms"].flatMap { Int($0) })
      #expect(found(topic.name, kept(for: .milliseconds(retention))).isEmpty, "\(topic.name)")
    }
  }

  @Test func aTopicThatForgetsWithinAMinuteIsRefused() {
    for topic in [Self.names.segments, Self.names.bulkSegments, Self.names.stragglers] {
      let items = found(topic, kept(for: .seconds(60)))
      #expect(items.map(\.status) == [.problem])
      #expect(items.first?.message.contains("\(topic) forgets records after 1m") == true)
      #expect(items.first?.hint?.contains("retention.ms=518400000") == true)
    }
  }

  @Test func aTopicThatForgetsBeforeEventsMayExpireIsWarnedOf() {
    #expect(found(Self.names.events, kept(for: .seconds(86_400))).map(\.status) == [.warning])
    var settings = Settings.defaults
    settings.events.maximumExpiresIn = .seconds(86_400)
    #expect(found(Self.names.events, kept(for: .seconds(86_400)), settings).isEmpty)
    settings.events.maximumExpiresIn = .seconds(86_401)
    #expect(
      found(Self.names.events, kept(for: .seconds(86_400)), settings).map(\.status) == [.warning])
  }

  @Test func aCompactedTopicIsRefused() {
    let policy = TopicPolicy(isCompacted: true, retention: nil, retentionBytes: nil)
    for topic in [Self.names.events, Self.names.deadLetters] {
      let items = found(topic, policy)
      #expect(items.map(\.status) == [.problem])
      #expect(items.first?.message.contains("\(topic) is compacted") == true)
    }
  }

  @Test func aBoundOfBytesIsWarnedOf() {
    let policy = TopicPolicy(isCompacted: false, retention: nil, retentionBytes: 1 << 20)
    #expect(found(Self.names.segments, policy).map(\.status) == [.warning])
  }

  /// Nobody reads a dead letter again for its event's sake.
  @Test func deadLettersMayBeForgotten() {
    #expect(found(Self.names.deadLetters, kept(for: .seconds(60))).isEmpty)
  }
}
