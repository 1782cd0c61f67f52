import EventLoop

/// A network that connects and listens in the place of the system's: a simulation's. Both ends of
/// its connections are in this process.
package protocol Network: AnyObject, Sendable {
  /// - Parameters:
  ///   - loop: the caller's.
  ///   - whenOver: called once, on `loop` and never before this returns.
  func connect(
    to endpoint: Endpoint, from loop: EventLoop,
    _ whenOver: @escaping (Result<any StreamSocket, TransportError>) -> Void)

  /// - Parameters:
  ///   - loop: the listener's.
  ///   - accept: called on `loop`, for each who connects, until `close` is.
  func listen(
    at endpoint: Endpoint, on loop: EventLoop, _ accept: @escaping (any StreamSocket) -> Void
  ) throws(TransportError) -> any NetworkListening
}

/// A place where a network takes connections.
package protocol NetworkListening: AnyObject {
  /// The port that it got, when it asked for port 0.
  var port: Int { get }
  func close()
}
