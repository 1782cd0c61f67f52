import EventLoop

/// A connection that nobody uses says nothing of itself: its other end may have gone without a
/// word, may be a replica now, or, behind a proxy, another server.
extension RedisConnection {
  func scheduleCheck() {
    checkTimer?.cancel()
    checkTimer = loop.schedule(after: options.checkInterval) { [weak self] in self?.check() }
  }

  /// One small command, with ROLE behind it as behind all. Without an answer in time the connection
  /// is given up, as for any command.
  private func check() {
    let pipeline = RedisPipeline(["INFO", "server"])
    let replies = RedisReplies(
      expecting: 1, maximumBytes: RedisReplyReader.maximumLineBytes)
    let execution = Execution(pipeline, replies, timeout: options.commandTimeout)
    execution.whenFinished = { [weak self, unowned execution] in
      guard let self, execution.failure == nil else { return }
      judge(RedisRole.runIdentifier(execution.replies[0]))
    }
    submit(execution)
  }

  /// Where INFO is forbidden nobody can say.
  private func judge(_ answering: String?) {
    guard let answering, let known = runIdentifier, known != answering else {
      runIdentifier = answering ?? runIdentifier
      return scheduleCheck()
    }
    handle(.lost(RedisError(.connectionLost, "another Redis process answers (its run_id changed)")))
  }
}
