import Transport

/// Where the pushes of one environment go.
package struct RouteTarget: Sendable {
  package var endpoint: Endpoint
  /// nil: the bytes are not encrypted, as in a network in memory.
  package var tls: ClientSecurity?
  package var interface: APNsInterface
  /// What the way leads through.
  package var proxy: HTTPProxy?

  /// nil: the system's.
  package var network: (any Network)?

  package init(
    endpoint: Endpoint, tls: ClientSecurity?, interface: APNsInterface = .http2,
    proxy: HTTPProxy? = nil
  ) {
    self.endpoint = endpoint
    self.tls = tls
    self.interface = interface
    self.proxy = proxy
  }

  /// How its server is reached.
  package func transport(connectTimeout: Duration) -> TransportOptions {
    var options = TransportOptions(connectTimeout: connectTimeout)
    options.proxy = proxy
    options.network = network
    return options
  }
}
