import Glibc

/// A thread of the operating system for work that blocks, which a task's thread must not. Either
/// `join` or `detach` is called, once; without them what the system keeps of the thread stays.
package struct SystemThread: Sendable {
  private let identifier: pthread_t

  /// Begins `body` on a thread of its own. Nil when the system has none left; nothing of `body`
  /// has run then, and nothing of it is kept.
  package init?(_ body: @escaping @Sendable () -> Void) {
    let start = ThreadStart(body)
    // Released by the thread when it begins, or below when it does not.
    let retained = Unmanaged.passRetained(start)
    var identifier: pthread_t = 0
    guard pthread_create(&identifier, nil, runThread, retained.toOpaque()) == 0 else {
      retained.release()
      return nil
    }
    self.identifier = identifier
  }

  /// Returns when the thread has ended. Not for the thread itself.
  package func join() { pthread_join(identifier, nil) }

  /// Lets the thread end by itself; may be said on the thread.
  package func detach() { pthread_detach(identifier) }
}

private final class ThreadStart: Sendable {
  let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func runThread(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let pointer else { return nil }
  Unmanaged<ThreadStart>.fromOpaque(pointer).takeRetainedValue().body()
  return nil
}
