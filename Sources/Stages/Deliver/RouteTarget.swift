import Transport

/// Where the pushes of one destination go.
package struct RouteTarget: Sendable {
  package var endpoint: Endpoint
  /// nil: the bytes are not encrypted, as in a network in memory.
  package var tls: ClientSecurity?
  /// nil: HTTP/2.
  package var interface: (any PushInterface)?
  package var proxy: HTTPProxy?

  /// nil: the system's.
  package var network: (any Network)?

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
  package var applicationProtocols: [String] { interface?.applicationProtocols ?? ["h2"] }

  /// How its server is reached.
  package func transport(connectTimeout: Duration) -> TransportOptions {
    var options = TransportOptions(connectTimeout: connectTimeout)
    options.proxy = proxy
    options.network = network
    return options
  }
}
