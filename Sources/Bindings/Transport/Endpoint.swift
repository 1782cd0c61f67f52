/// Where a connection leads.
package struct Endpoint: Sendable, Equatable, Hashable, CustomStringConvertible {
  package let host: String
  package let port: Int

  package init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// The `:authority` over TLS: the port is left out where it is that of HTTPS (RFC 9110, section
  /// 4.2.2).
  package var authority: String {
    guard port == 443 else { return description }
    return host.contains(":") ? "[\(host)]" : host
  }

  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
