/// How the lanes of a worker prove to Apple who they are: by tokens in each request, or by a
/// certificate when a connection is made ("Establishing a connection to APNs").
package enum APNsCredentials: Sendable {
  case key(ProviderTokenSource)
  case certificate(ClientIdentity)

  /// For a single request: the route with what the connection shows, and the value of the request's
  /// `authorization`; nil: it has none.
  /// - Parameter now: ms since 1970.
  package func proven(
    _ route: APNsRoute, now: Int64
  ) throws(DeliverError) -> (route: APNsRoute, authorization: String?) {
    switch self {
    case .key(let tokens):
      let token = try tokens.token(now: now)
      return (route, String(decoding: token.authorization.bytes, as: UTF8.self))
    case .certificate(let identity):
      var route = route
      route.tls = identity.current.security(for: route.interface)
      return (route, nil)
    }
  }
}
