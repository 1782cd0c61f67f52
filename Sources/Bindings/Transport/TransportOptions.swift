import EventLoop
import TLS
import Text

/// How a connection is made, and when the kernel gives it up.
package struct TransportOptions: Sendable {
  /// From the first address of the server's to the end of the TLS handshake.
  package var connectTimeout: Duration
  /// Before that, for the server's name: a nameserver that is dead takes the system's resolver 5 s,
  /// and the next is asked then.
  package var resolveTimeout: Duration
  /// A connection on which nothing moves is probed after `keepAliveIdle`, then each
  /// `keepAliveInterval`, and is gone after `keepAliveProbes` without an answer: a minute in all. A
  /// firewall or load balancer that forgets idle connections sees traffic before it does (those of
  /// clouds forget after 350 s and more).
  var keepAliveIdle: Duration
  var keepAliveInterval: Duration
  var keepAliveProbes: Int
  /// For how long what we sent may stay unacknowledged (TCP_USER_TIMEOUT; the kernel's own limit
  /// is 15 minutes). Linux then ends the probes by it too, in place of their number.
  var userTimeout: Duration
  /// Connects there, whatever the endpoint says; certificates are checked for the endpoint's host.
  package var connectTo: Endpoint?
  /// The proxy on the way; nil: none.
  package var proxy: HTTPProxy?
  /// nil: the system's.
  package var network: (any Network)?
  /// Resolves the server's name.
  package var names = NameResolver.system
  /// Whether a connection to an address must not be made; nil: to none. It is asked for each
  /// address that the server's name leads to, or that stands in its place, before anything is sent
  /// there: 4 or 16 bytes in network order. When it refuses all, the connection fails with
  /// `.refusedAddress`.
  ///
  /// Where a `proxy` is between, the server's name is looked up here all the same, and the proxy is
  /// asked for an address that is not refused. With nil it is asked for the name, which it looks up
  /// itself. It is not asked of the proxy's own address, nor of a `network`, which has none.
  package var refusesAddress: (@Sendable (_ address: [UInt8]) -> Bool)?
  /// Offered in the TLS handshake (ALPN); nil: those of `ClientSecurity`.
  package var applicationProtocols: [String]?

  package init(
    connectTimeout: Duration = .seconds(10), resolveTimeout: Duration = .seconds(15),
    keepAliveIdle: Duration = .seconds(30), keepAliveInterval: Duration = .seconds(10),
    keepAliveProbes: Int = 3, userTimeout: Duration = .seconds(20)
  ) {
    self.connectTimeout = connectTimeout
    self.resolveTimeout = resolveTimeout
    self.keepAliveIdle = keepAliveIdle
    self.keepAliveInterval = keepAliveInterval
    self.keepAliveProbes = keepAliveProbes
    self.userTimeout = userTimeout
  }
}

/// Whom a client's connection trusts: rooms above name it without importing TLS.
package typealias ClientSecurity = TLSClientContext

/// An HTTP proxy on the way to a server (RFC 9110, section 9.3.6): CONNECT first, then whatever the
/// connection is for.
package struct HTTPProxy: Sendable, Equatable {
  package let endpoint: Endpoint
  /// `Basic` credentials (RFC 7617); nil: none. A secret.
  let authorization: String?

  package init(endpoint: Endpoint, username: String? = nil, password: String = "") {
    self.endpoint = endpoint
    authorization = username.map { "Basic " + Base64.encode(Array("\($0):\(password)".utf8)) }
  }
}

/// Prints without the secret, wherever a route or a connection's options are printed.
extension HTTPProxy: CustomStringConvertible, CustomReflectable {
  package var description: String { "\(endpoint)" }
  package var customMirror: Mirror { Mirror(self, children: ["endpoint": endpoint]) }
}

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
