import Model

/// What tells the routes of a lane apart: an environment, and whose credentials go there.
struct RouteName: Hashable {
  let environment: APNsEnvironment
  /// A place in `AppCredentials.all`.
  let credentials: Int

  static let production = RouteName(environment: .production, credentials: 0)
}
