import EventLoop
import Kafka
import Telemetry

/// Partitions that the group gives to another member.
extension KafkaPump {
  /// Takes nothing more of these and gives them back when what was begun is done: the next owner
  /// then begins where we ended.
  func finishBeforeRevoke(_ partitions: [KafkaPartition]) {
    revoking = Set(partitions)
    consumer.pause(partitions)
    for index in intakes.indices { intakes[index].revoked(revoking) }
    deadLetters.forget(revoking)
    revokeDeadline = loop.schedule(after: options.revokeTimeout) { [weak self] in
      self?.assumeIsolated { $0.giveUpRevoked() }
    }
    giveUpRevokedWhenDone()
  }

  func giveUpRevokedWhenDone() {
    guard !revoking.isEmpty, !running.contains(anyOf: revoking) else { return }
    giveUpRevoked()
  }

  func giveUpRevoked() {
    guard !revoking.isEmpty else { return }
    revoking = []
    revokeDeadline?.cancel()
    consumer.giveUpRevoked()
    poll()
  }

  /// What is in flight goes on under its claims; its offsets are another member's now.
  func revoked(_ partitions: [KafkaPartition]) {
    offsets.revoked(partitions)
    let gone = Set(partitions)
    revoking.subtract(gone)
    if revoking.isEmpty { revokeDeadline?.cancel() }
    for index in intakes.indices { intakes[index].revoked(gone) }
    deadLetters.forget(gone)
    if self.partitions == 0 { noLongerReady() }
    options.log.info("partitions revoked", ["count": .integer(partitions.count)])
    // What was paused for their records' sake goes on.
    dispatchAll()
  }
}
