import EventLoop
import Kafka
import Telemetry

/// The end: what runs is finished, what is done is committed, the group is left.
extension KafkaPump {
  /// Takes nothing new and waits for what is in flight as long as `timeout`. Returns whether all
  /// that was begun is done. May be called again: after the lanes have stopped nothing stays in
  /// flight. Records that wait for the dead letters are not waited for.
  package func drain(timeout: Duration) async -> Bool {
    isDraining = true
    noLongerReady()
    pauseAll()
    if running.count > held {
      let deadline = loop.schedule(after: timeout) { [weak self] in
        self?.assumeIsolated { $0.resumeDrained() }
      }
      await withCheckedContinuation { drained.append($0) }
      deadline.cancel()
    }
    return running.isEmpty
  }

  /// Records that the dead letters do not take stay for another worker: a lane that has stopped
  /// could not note them.
  package func giveUpDeadLetters() { deadLetters.stop() }

  /// Commits what is done and leaves the group, so that others take over at once. Waits for Kafka
  /// for at most `timeout`: what was not committed is read again and found done.
  package func close(timeout: Duration) {
    guard !isClosed else { return }
    isClosed = true
    giveUpDeadLetters()
    let deadline = ContinuousClock.now + timeout
    do {
      try consumer.commitNow(
        offsets.takeCommittable(all: true), timeout: timeout * Self.commitShare)
    } catch {
      options.log.warning("last commit failed", ["error": .text("\(error)")])
    }
    // Nothing is done since: another commit while the group is left would only cost time, and one
    // that failed would fail again.
    consumer.offsetsToCommitOnRevoke = nil
    consumer.close(timeout: deadline - .now)
    waker?.close()
  }

  /// Lets the thread end. Nothing runs on the pump afterwards.
  package nonisolated func end() { loop.stop() }

  func pauseAll() {
    for index in intakes.indices { consumer.pause(intakes[index].drain()) }
  }

  func resumeDrained() {
    let resumed = drained
    drained = []
    for continuation in resumed { continuation.resume() }
  }
}
