/// Runs async code on a loop for callers that are no lane: commands and tests. What `body` makes
/// stays on the loop; only what it returns leaves.
package actor LoopActor {
  private let loop: EventLoop

  package init(_ loop: EventLoop) { self.loop = loop }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  package func run<T: Sendable, E: Error>(
    _ body: @Sendable (isolated LoopActor) async throws(E) -> T
  ) async throws(E) -> T {
    try await body(self)
  }

  /// Suspends for `duration` on the loop's clock.
  package func wait(_ duration: Duration) async { await loop.wait(duration) }
}

extension EventLoop {
  /// Suspends the caller, which runs on this loop, for `duration`.
  package nonisolated(nonsending) func wait(_ duration: Duration) async {
    await withCheckedContinuation { continuation in
      schedule(after: duration) { continuation.resume() }
    }
  }
}
