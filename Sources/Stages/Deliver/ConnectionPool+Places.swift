/// Which place is for what: behind the ordinary ones those of the helpers, and last those for
/// tokens of which nothing is known.
extension ConnectionPool {
  /// With the ordinary two, four times as much as goes over these with the same window; Apple asks
  /// to spread pushes over connections, but not to open many at once.
  static let helpers = 6
  /// On this the bad tokens are rejected; while it is replaced, the one before answers what is in
  /// flight.
  static let unproven = 1
  /// Unknown tokens are few among known ones, and what most of their streams do is to be cut.
  static let unprovenStreams = 200

  var ordinaryPlaces: Range<Int> { 0..<places.count - Self.helpers - Self.unproven }
  var helperPlaces: Range<Int> {
    ordinaryPlaces.upperBound..<places.count - Self.unproven
  }
  var unprovenPlaces: Range<Int> { helperPlaces.upperBound..<places.count }

  /// For what was never answered; for ordinary pushes while there is nothing of the kind.
  var silentPlace: Int { helperPlaces.upperBound - 1 }

  /// Pushes for which it is there can be sent on it, or will be in a moment.
  func isUseful(_ place: Int, at now: UInt64) -> Bool {
    guard let connection = places[place].connection else {
      return places[place].opening != nil && !places[place].cameToNothing
    }
    guard connection.phase == .open else {
      return !places[place].cameToNothing
        && now &- connection.openedAt < ConnectionWatch.heldUpAfter
    }
    return !connection.isHeldUp(at: now) && (connection.inFlight > 0 || connection.capacity > 0)
  }
}
