/// The routes of a lane, always in the same order, so that work that goes through all of them does
/// not depend on how a table hashes.
struct LaneRoutes {
  private(set) var names: [RouteName] = []
  private(set) var all: [Route] = []
  private var places: [RouteName: Int] = [:]

  /// One of each name.
  mutating func add(_ route: Route, _ name: RouteName) {
    places[name] = all.count
    names.append(name)
    all.append(route)
  }

  subscript(name: RouteName) -> Route? { places[name].map { all[$0] } }
}
