/// Runs async code on a loop for callers that are no lane: commands and tests. Objects of `body`
/// stay on the loop; only its result leaves.
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
  /// A loop for the length of some work: its thread ends with the work.
  package static func temporary<T: Sendable, E: Error>(
    _ name: String, _ body: @Sendable (isolated LoopActor, EventLoop) async throws(E) -> T
  ) async throws(E) -> T {
    let loop = EventLoop(name: name)
    defer {
      loop.stop()
      loop.join()
    }
    return try await LoopActor(loop).run { (actor: isolated LoopActor) async throws(E) -> T in
      try await body(actor, loop)
    }
  }

  /// Returns once the thread has run something that was posted after the call. Never returns while
  /// the thread hangs, nor once the loop has stopped. A call of an empty method of an actor is no
  /// such question: the optimizer removes it, and the way to the actor's thread with it.
  package nonisolated func answers() async {
    // Unsafe: a stopped loop drops what it has not run, and a dropped checked one is a warning.
    await withUnsafeContinuation { continuation in execute { continuation.resume() } }
  }

  /// Suspends the caller, which runs on this loop, for `duration`.
  package nonisolated(nonsending) func wait(_ duration: Duration) async {
    await withCheckedContinuation { continuation in
      schedule(after: duration) { continuation.resume() }
    }
  }
}
