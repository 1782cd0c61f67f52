import EventLoop
import Kafka

/// Commits, and what is given back: partitions in a rebalance, everything when the worker stops.
extension KafkaPump {
  // MARK: giving partitions back

  /// Takes nothing more of these and gives them back when what was begun is done: the next owner
  /// then begins where we ended.
  func finishBeforeRevoke(_ partitions: [KafkaPartition]) {
    revoking = Set(partitions)
    consumer.pause(partitions)
    for index in intakes.indices { intakes[index].revoked(revoking) }
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
    if self.partitions == 0 { noLongerReady() }
    options.log.info("partitions revoked", ["count": .integer(partitions.count)])
    // What was paused for their records' sake goes on.
    dispatchAll()
  }

  // MARK: committing

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

  // MARK: stopping

  /// Takes nothing new and waits for what is in flight as long as `timeout`. Returns whether all
  /// that was begun is done. May be called again: after the lanes have stopped nothing stays in
  /// flight. Records that wait for the dead letters are not waited for.
  package func drain(timeout: Duration) async -> Bool {
    isDraining = true
    noLongerReady()
    pauseAll()
    if running.count > stuck {
      let deadline = loop.schedule(after: timeout) { [weak self] in
        self?.assumeIsolated { $0.resumeDrained() }
      }
      await withCheckedContinuation { drained.append($0) }
      deadline.cancel()
    }
    return running.isEmpty
  }

  /// Commits what is done and leaves the group, so that others take over at once. Waits for Kafka
  /// for at most `timeout`: what was not committed is read again and found done.
  package func close(timeout: Duration) {
    guard !isClosed else { return }
    isClosed = true
    let deadline = ContinuousClock.now + timeout
    do {
      try consumer.commitNow(
        offsets.takeCommittable(all: true), timeout: timeout * Self.commitShare)
    } catch {
      options.log.warning("last commit failed", ["error": .text("\(error)")])
    }
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
