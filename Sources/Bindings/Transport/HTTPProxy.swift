import Text

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
