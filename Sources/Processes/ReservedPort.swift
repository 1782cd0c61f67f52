import Glibc

/// A TCP port of 127.0.0.1 that is its owner's for as long as this object lives: no `LocalPort`
/// finds it free, however often the server for which it is kept dies and starts again.
///
/// A socket keeps it that never listens. A server that sets SO_REUSEADDR, as redis-server does, can
/// listen beside it; one that does not cannot have the port.
package final class ReservedPort: Sendable {
  package let number: Int
  /// Owned, and closed with this object.
  private let descriptor: Int32

  package init() throws(LocalRunError) {
    (descriptor, number) = try LocalPort.bindFree()
    // Only now: a socket that may share its port could have taken one that another reserves.
    var isShared: Int32 = 1
    setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(descriptor) }
}
