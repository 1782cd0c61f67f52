import CLinux
import EventLoop
import Glibc

enum Socket {
  static func set(_ options: TransportOptions, of descriptor: Int32) {
    // Without it a batch of pushes waits for the answer to the last one (Nagle).
    set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
    set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, seconds(options.keepAliveIdle))
    set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, seconds(options.keepAliveInterval))
    set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, options.keepAliveProbes)
    set(
      descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT,
      Int(options.userTimeout / .milliseconds(1)))
  }

  /// A socket that refuses an option works without it.
  private static func set(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int) {
    var value = Int32(clamping: value)
    setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  private static func seconds(_ duration: Duration) -> Int {
    max(1, Int(duration.components.seconds))
  }

  static func pendingError(_ descriptor: Int32) -> Int32 {
    var failure: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length) == 0 else { return errno }
    return failure
  }
}
