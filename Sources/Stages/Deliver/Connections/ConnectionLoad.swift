/// How many pushes may be in flight on a connection.
struct ConnectionLoad: Equatable {
  let most: Int
  /// Until it has carried as many; nil: no such bound. See
  /// `ConnectionPlaces.loadAtFirst`.
  var first: Int?
}
