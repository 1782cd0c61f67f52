import EventLoop

/// A connection that nobody uses says nothing of itself: its other end may have gone without a
/// word, may be a replica now, or, behind a proxy, another server. So it is asked now and then.
/// Belongs to its connection, and is confined to its loop.
final class IdleCheck {
  private unowned let connection: RedisConnection
  private var timer: LoopTimer?
  /// The process that answers on this connection; nil before it was asked.
  private var runIdentifier: String?

  init(of connection: RedisConnection) { self.connection = connection }

  /// There is a connection, as of now or as before.
  func schedule() {
    timer?.cancel()
    timer = connection.loop.schedule(after: connection.options.checkInterval) { [weak self] in
      self?.check()
    }
  }

  /// There is none any more; the next may lead to another process.
  func cancel() {
    timer?.cancel()
    runIdentifier = nil
  }

  /// One small command, with ROLE behind it as behind all. Without an answer in time the connection
  /// is given up, as for any command.
  private func check() {
    connection.ask(["INFO", "server"]) { [weak self] answer in
      guard let self, let answer else { return }
      judge(RedisRole.runIdentifier(answer))
    }
  }

  /// Where INFO is forbidden nobody can say.
  private func judge(_ answering: String?) {
    guard let answering, let known = runIdentifier, known != answering else {
      runIdentifier = answering ?? runIdentifier
      return schedule()
    }
    connection.handle(
      .lost(RedisError(.connectionLost, "another Redis process answers (its run_id changed)")))
  }
}
