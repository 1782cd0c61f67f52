import EventLoop
import Model

/// How batches come into the queues of a route.
extension Route {
  /// Whether a batch of this topic should wait for room. Never for what could not be sent anyway.
  func isFull(for name: String) -> Bool {
    guard isOpen, readyCount >= options.readyPushes else { return false }
    if let topic = topics.first(where: { $0.name == name }) {
      guard topic.isOpen else { return false }
      if !topic.gate.isOpen { return topic.queue.count >= options.readyPushes }
    }
    // What waits for a topic's credentials to be found good takes nobody else's room.
    let moving = topics.reduce(0) { $0 + ($1.isOpen && $1.gate.isOpen ? $1.queue.count : 0) }
    return moving >= options.readyPushes
  }

  /// - Parameter surplusLeaves: nobody waited for room here; what there is none for leaves its
  ///   segment.
  func append(_ batch: PushBatch, surplusLeaves: Bool = false) {
    let topic = topic(named: batch.headers.topic)
    let room =
      if !topic.isOpen {
        max(0, options.waitingPushes - waitingCount)
      } else if surplusLeaves {
        max(0, options.readyPushes - readyCount)
      } else {
        Int.max
      }
    lastAppendedAt = loop.now
    let (taken, end) = topic.queue.append(batch, atMost: room, at: lastAppendedAt)
    if topic.counts(batch.tally) { batch.tally.willSend(taken) }
    if taken < batch.entries.count { appendOthers(of: batch, from: end) }
    start()
    schedulePump()
  }

  /// What an ordinary queue does not take: suspects, and pushes for which there is no room to wait.
  private func appendOthers(of batch: PushBatch, from end: Int) {
    let entries = batch.entries
    var lost: [ReadyPush] = []
    for index in entries.indices where entries[index].environment == environment {
      let push = ReadyPush(batch: batch, index: index, history: entries[index].history)
      if push.history.losses > 1 {
        suspect([push])
      } else if push.history.losses > 0 {
        lost.append(push)
      } else if index >= end {
        postpone(push)
      }
    }
    suspect(lost)
  }

  func topic(named name: String) -> TopicQueue {
    if let topic = topics.last, topic.name == name { return topic }
    if let topic = topics.first(where: { $0.name == name }) { return topic }
    let topic = TopicQueue(name: name, environment: environment, isOpen: isOpen)
    topic.set(open: isOpen, lags: lags)
    topics.append(topic)
    return topic
  }
}
