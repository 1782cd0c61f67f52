import Model

/// What tells the routes of a lane apart: an environment, and whose credentials go there.
struct RouteName: Hashable {
  let destination: Destination
  /// An index into `AppCredentials.all`.
  let credentials: Int
}
