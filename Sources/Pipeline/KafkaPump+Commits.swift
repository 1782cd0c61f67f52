import EventLoop
import Kafka

/// The regular commit of what is done.
extension KafkaPump {
  func everyCommitInterval() {
    guard !isClosed else { return }
    commit()
    loop.schedule(after: Self.commitInterval) { [weak self] in
      self?.assumeIsolated { $0.everyCommitInterval() }
    }
  }

  func commit() {
    guard hasNews else { return }
    hasNews = false
    let committable = offsets.takeCommittable()
    if !committable.isEmpty { consumer.commit(committable) }
  }
}
