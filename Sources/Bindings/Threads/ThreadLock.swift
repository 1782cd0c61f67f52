import Glibc

/// State behind a lock of pthread's. `Synchronization.Mutex` would do, but ThreadSanitizer cannot
/// see into it on Linux and takes what it guards for a race.
///
/// Unchecked: `state` is touched with the lock held, by `withLock` alone.
public final class ThreadLock<State: ~Copyable>: @unchecked Sendable {
  @usableFromInline var state: State
  @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  public init(_ state: consuming State) {
    self.state = state
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @inlinable public func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state)
  }
}
