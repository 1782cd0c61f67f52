import CLinux
import Glibc

/// An eventfd on a loop, for a library that can write to a descriptor but cannot call us: what it
/// writes, at any time and from any thread, runs `body` on the loop. So does `call`. Made and
/// closed on the loop.
///
/// Unchecked: `call` uses nothing but the loop and its inbox.
package final class LoopWaker: @unchecked Sendable {
  /// Non-blocking; takes writes of eight bytes. Good as long as this object lives, also after
  /// `close`. -1 on a loop with a driver, which watches none.
  package let descriptor: Int32
  private let loop: EventLoop
  private let body: () -> Void
  private var registration: Registration?
  private var isClosed = false

  /// - Throws: when the process may open no more descriptors.
  package init(loop: EventLoop, _ body: @escaping () -> Void) throws(LoopError) {
    self.loop = loop
    self.body = body
    guard !loop.hasDriver else {
      descriptor = -1
      return
    }
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else { throw LoopError(systemError: errno) }
    registration = try loop.add(descriptor, [.read], self)
  }

  deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

  /// Runs `body` in the next turn, whether anybody else writes or not.
  package func wake() {
    guard descriptor >= 0 else { return call() }
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  /// As `wake`, from any thread.
  package func call() {
    loop.execute { [weak self] in
      guard let self, !isClosed else { return }
      body()
    }
  }

  /// `body` is not called any more. Until this the loop keeps the waker.
  package func close() {
    if let registration { loop.remove(registration) }
    registration = nil
    isClosed = true
  }
}

extension LoopWaker: LoopHandler {
  package func descriptorReady(_ readiness: Interest) {
    var value: UInt64 = 0
    _ = read(descriptor, &value, 8)
    body()
  }
}
