/// Where tasks go on that never leave a loop's thread. A task that waits for a continuation, or for
/// another task, is resumed where it prefers to run, and only then goes back to its actor: without
/// a preference that is a thread of the global pool, so that each answer of Redis would wake two
/// threads and cost a job in each.
///
/// Unchecked: the loop is named before anybody else has this.
package final class LoopTaskExecutor: TaskExecutor, @unchecked Sendable {
  /// A loop that is gone has run its last job.
  private weak var loop: EventLoop?

  func belong(to loop: EventLoop) { self.loop = loop }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop?.enqueue(EventLoop.Job(job: job, isPreferred: true))
  }
}

extension EventLoop {
  /// A task of an actor of this loop, on which the caller is. `body` may hold what belongs to the
  /// actor, and goes on here after each wait.
  @discardableResult
  package func task<T: Sendable>(
    on actor: isolated any Actor, _ body: @escaping () async throws -> T
  ) -> Task<T, any Error> {
    assertOnLoop()
    // It is called by nobody but the actor, from whose region it comes.
    nonisolated(unsafe) let body = body
    return Task(executorPreference: taskExecutor) { try await Self.run(body, on: actor) }
  }

  /// As above, for what does not fail.
  @discardableResult
  package func task<T: Sendable>(
    on actor: isolated any Actor, _ body: @escaping () async -> T
  ) -> Task<T, Never> {
    assertOnLoop()
    nonisolated(unsafe) let body = body
    return Task(executorPreference: taskExecutor) { await Self.run(body, on: actor) }
  }

  private static func run<T: Sendable>(
    _ body: () async throws -> T, on actor: isolated any Actor
  ) async rethrows -> T {
    try await body()
  }
}
