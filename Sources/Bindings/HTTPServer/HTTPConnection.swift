import CMicrohttpd
import EventLoop

/// A client that is connected. Confined to its server.
final class HTTPConnection {
  let peer: PeerAddress
  /// Counts up over all connections: when it came, or when its last exchange ended.
  var quietSince: Int
  /// When it is given up.
  var deadline: LoopTimer?
  /// When an exchange whose body is read while it comes is given up, whatever comes; monotonic
  /// nanoseconds.
  var lastMoment: UInt64?
  /// Of a body that is read while it comes: what has come since the deadline was put off.
  var unhurriedBytes = 0
  /// One at a time.
  var exchange: HTTPExchange?
  /// It has been shut down, and libmicrohttpd has yet to find that.
  var isLeaving = false

  init(peer: PeerAddress, quietSince: Int) {
    self.peer = peer
    self.quietSince = quietSince
  }

  /// It waits for its client: for a request, for the rest of one, or for a response to be read.
  /// Never where the client waits for us.
  /// Nor where a long body is on its way and wanted: there are few of those, and they have a time
  /// of their own.
  var mayGo: Bool {
    !isLeaving && exchange?.isSuspended != true
      && (exchange?.stream == nil || exchange?.response != nil)
  }
}
