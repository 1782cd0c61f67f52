/// Tasks that never leave the loop's thread. A task that waits for a continuation, or for another
/// task, is resumed where it prefers to run, and only then goes back to its actor: without a
/// preference that is a thread of the global pool, so that each answer of Redis would wake two
/// threads and cost a job in each.
extension EventLoop {
  /// A task of an actor of this loop. `body` is called on the loop, and may hold what belongs to
  /// the actor.
  @discardableResult
  package func task<T: Sendable>(
    on actor: isolated any Actor, _ body: @escaping () async throws -> T
  ) -> Task<T, any Error> {
    assertOnLoop()
    // It is called by nobody but the actor, from whose region it comes.
    nonisolated(unsafe) let body = body
    return Task(executorPreference: self) { try await Self.run(body, on: actor) }
  }

  /// As above, for what does not fail.
  @discardableResult
  package func task<T: Sendable>(
    on actor: isolated any Actor, _ body: @escaping () async -> T
  ) -> Task<T, Never> {
    assertOnLoop()
    nonisolated(unsafe) let body = body
    return Task(executorPreference: self) { await Self.run(body, on: actor) }
  }

  private static func run<T: Sendable>(
    _ body: () async throws -> T, on actor: isolated any Actor
  ) async rethrows -> T {
    try await body()
  }
}
