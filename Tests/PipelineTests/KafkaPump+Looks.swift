import Kafka

@testable import Pipeline

/// What tests look at in a pump, and tell it.
extension KafkaPump {
  var running: RunningRecords { dispatch.running }
  var revoking: Set<KafkaPartition> { revocation.partitions }

  /// How many records Kafka had delivered when that of one of the first two runs, found by its
  /// partition, came last. Tasks begin in any order, so the lane does not know which run is whose.
  func deliveries(of partition: KafkaPartition) -> Int {
    let runs = (1...2).compactMap { dispatch.running[$0] }
    return runs.first { $0.message.source == partition }?.number ?? 0
  }

  var waitingLetters: Int { deadLetters.waitingCount }
  var isWaitedFor: Bool { !waiters.isEmpty }

  /// As Kafka says it when another member gets one of two partitions. The embedded broker drops
  /// members on a busy machine, so that two may not agree for minutes.
  func shares(keeping own: KafkaPartition, givingUp other: KafkaPartition) {
    handle(.revoking([own, other]))
    handle(.revoked([own, other]))
    handle(.assigned([own]))
  }

  func polledAfterClosing() -> [KafkaPoll] {
    var polled: [KafkaPoll] = []
    while let next = consumer.poll(timeout: .zero) { polled.append(next) }
    return polled
  }

  func offeredOnRevoke() -> [KafkaPartition: Int64] {
    consumer.offsetsToCommitOnRevoke?([]) ?? [:]
  }
}
