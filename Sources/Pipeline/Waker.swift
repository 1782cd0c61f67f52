import CLinux
import EventLoop
import Glibc

/// An eventfd on a loop: librdkafka writes to it when its queue is no longer empty.
final class Waker: LoopHandler {
  let descriptor: Int32
  private let loop: EventLoop
  private let body: () -> Void
  private var registration: Registration?

  init(loop: EventLoop, _ body: @escaping () -> Void) throws(LoopError) {
    self.loop = loop
    self.body = body
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    registration = try loop.add(descriptor, [.read], self)
  }

  /// Makes itself ready once more.
  func again() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  /// Before the consumer goes: it may write until it is closed, so the descriptor outlives it by the owner.
  func close() {
    if let registration { loop.remove(registration) }
    registration = nil
  }

  deinit { Glibc.close(descriptor) }

  func descriptorReady(_ readiness: Interest) {
    var value: UInt64 = 0
    _ = read(descriptor, &value, 8)
    body()
  }
}
