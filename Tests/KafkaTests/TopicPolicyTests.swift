import Testing

@testable import Kafka

/// What a topic's configuration means.
@Suite struct TopicPolicyTests {
  @Test func whatIsKeptForEverHasNoRetention() {
    let policy = TopicPolicy([
      "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1",
    ])
    #expect(policy == TopicPolicy(isCompacted: false, retention: nil, retentionBytes: nil))
    let largest = TopicPolicy(["retention.ms": "\(Int64.max)"])
    #expect(largest.retention ?? .zero > .seconds(86_400 * 365))
  }

  @Test func timesAndBytesBoundWhatIsDeleted() {
    let policy = TopicPolicy([
      "cleanup.policy": "delete", "retention.ms": "60000", "retention.bytes": "1048576",
    ])
    #expect(
      policy
        == TopicPolicy(isCompacted: false, retention: .seconds(60), retentionBytes: 1_048_576))
  }

  @Test func compactionIsSeenBesideDeletion() {
    let both = TopicPolicy(["cleanup.policy": "compact,delete", "retention.ms": "1000"])
    #expect(both == TopicPolicy(isCompacted: true, retention: .seconds(1), retentionBytes: nil))
    let alone = TopicPolicy(["cleanup.policy": "compact", "retention.ms": "1000"])
    #expect(alone == TopicPolicy(isCompacted: true, retention: nil, retentionBytes: nil))
  }
}
