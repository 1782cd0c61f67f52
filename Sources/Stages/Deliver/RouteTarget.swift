import Transport

/// Where the pushes of one destination go.
package struct RouteTarget: Sendable {
  package var endpoint: Endpoint
  /// nil: the bytes are not encrypted, as in a network in memory.
  package var tls: ClientSecurity?
  /// nil: HTTP/2.
  package var interface: (any PushInterface)?
  package var proxy: HTTPProxy?
  /// Connects there instead; the endpoint stays what the server is told and must prove.
  package var connectTo: Endpoint?
  /// nil: as `DeliverOptions` has them for all routes.
  package var connections: Connections?

  /// How many connections of a lane lead there.
  package struct Connections: Sendable {
    package var usual: Int
    /// Under load.
    package var most: Int
    /// Streams in flight on each at most.
    package var streams: Int

    package init(usual: Int, most: Int, streams: Int) {
      self.usual = usual
      self.most = most
      self.streams = streams
    }
  }

  /// nil: the system's.
  package var network: (any Network)?
  /// Its server may speak HTTP/1.1 in the place of HTTP/2: over TLS both are offered, and the
  /// server chooses. A connection has one push in flight then, and there are
  /// `Connections.most` of them under load.
  package var mayUseHTTP1 = false
  /// Whether an address of the server's must not be connected to, since its name comes from a
  /// client: `TransportOptions` says when that is asked. Such names have a resolver of their own.
  package var refusesAddress: (@Sendable (_ address: [UInt8]) -> Bool)?

  package init(
    endpoint: Endpoint, tls: ClientSecurity?, interface: (any PushInterface)? = nil,
    proxy: HTTPProxy? = nil
  ) {
    self.endpoint = endpoint
    self.tls = tls
    self.interface = interface
    self.proxy = proxy
  }

  /// Offered in a TLS handshake (ALPN).
  package var applicationProtocols: [String] {
    interface?.applicationProtocols
      ?? (mayUseHTTP1 ? ["h2", HTTP1Connection.protocolName] : ["h2"])
  }

  /// How its server is reached.
  package func transport(connectTimeout: Duration) -> TransportOptions {
    var options = TransportOptions(connectTimeout: connectTimeout)
    options.proxy = proxy
    options.connectTo = connectTo
    options.network = network
    options.refusesAddress = refusesAddress
    if refusesAddress != nil { options.names = .ofClients }
    return options
  }
}
