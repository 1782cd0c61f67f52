/// The end of a pump: nothing new is taken, what is done is committed, and the group is left.
extension KafkaPump {
  /// Of the time to close, what the last commit may take: the rest is for leaving the group.
  private static let commitShare = 0.75

  /// Nothing is in flight but what waits for the dead letters.
  var isDrained: Bool { dispatch.running.count <= deadLetters.heldCount }

  /// Takes nothing new and waits for what is in flight as long as `timeout`. Returns whether all
  /// that was begun is done. May be called again: after the lanes have stopped nothing stays in
  /// flight. Records that wait for the dead letters are not waited for.
  package func drain(timeout: Duration) async -> Bool {
    let steps = dispatch.drain()
    readiness.end()
    absence.stop()
    perform(steps)
    if !isDrained { await waiters.wait(atMost: timeout) }
    return dispatch.running.isEmpty
  }

  /// Records that the dead letters do not take stay for another worker: a lane that has stopped
  /// could not note them.
  func giveUpDeadLetters() { deadLetters.stop() }

  /// Commits what is done and leaves the group, so that others take over at once. Waits for Kafka
  /// for at most `timeout`: what was not committed is read again and found done.
  /// - Returns: how much of that time is left.
  @discardableResult
  package func close(timeout: Duration) -> Duration {
    guard !isClosed else { return timeout }
    isClosed = true
    polling.stop()
    giveUpDeadLetters()
    let began = loop.clock
    let left = { [loop] in timeout - .nanoseconds(Int64(clamping: loop.clock &- began)) }
    commits.commitLast(timeout: timeout * Self.commitShare)
    consumer.close(timeout: left())
    polling.close()
    return left()
  }

  /// Lets the thread end. Nothing runs on the pump afterwards.
  package nonisolated func end() { loop.stop() }
}
