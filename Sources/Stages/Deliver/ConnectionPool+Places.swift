/// Which places there are. Behind the ordinary ones, and those that may become such, are those for
/// tokens of which nothing is known (`TokenSeparation`), and last those of helpers, for trouble:
/// they find out which push closes connections, and spread what is in flight while many do, so that
/// little is lost with each.
extension ConnectionPool {
  /// While one is replaced, another takes what is unknown: bad tokens cost them their streams.
  static let unproven = 2
  /// Some of few pushes go there: 48 streams of each send 1,600 a second to an Apple that is 60 ms
  /// away.
  static let unprovenStreams = 48
  /// With the ordinary two, four times as much as goes over these with the same window; Apple asks
  /// to spread pushes over connections, but not to open many at once.
  static let helpers = 6
  /// Nanoseconds after which a connection goes that has had nothing to do, and is not ordinary.
  private static let idle: UInt64 = 30_000_000_000

  var ordinaryPlaces: Range<Int> { 0..<growth.wanted }
  var unprovenPlaces: Range<Int> { growth.most..<growth.most + Self.unproven }
  var helperPlaces: Range<Int> { unprovenPlaces.upperBound..<places.count }

  /// For what was never answered; for ordinary pushes while there is nothing of the kind.
  var silentPlace: Int { places.count - 1 }

  func isOrdinary(_ place: Int) -> Bool { ordinaryPlaces.contains(place) }

  var openConnections: Int {
    places[ordinaryPlaces].count { $0.connection?.phase == .open }
  }

  /// An ordinary connection takes pushes now.
  var takes: Bool { places[ordinaryPlaces].contains { ($0.connection?.capacity ?? 0) > 0 } }

  /// In flight there at most.
  func streams(at place: Int) -> Int {
    let most = options.streamsPerConnection
    return unprovenPlaces.contains(place)
      ? min(most, Self.unprovenStreams) : StreamCapacity.streams(forAll: most)
  }

  /// An ordinary connection is not admitted: another may have taken what it would be. One that was
  /// opened besides is not missed.
  private var isOneMissing: Bool {
    places[..<growth.least].contains { $0.cameToNothing && $0.connection?.phase != .open }
  }

  /// Whether a connection belongs there now.
  func isNeeded(_ place: Int) -> Bool {
    if isOrdinary(place) { return true }
    if unprovenPlaces.contains(place) { return topics.apartCount > 0 && !isOneMissing }
    return helperPlaces.contains(place)
      && (waiting.suspectCount > 0 || (traffic.isCareful && topics.readyCount > 0))
  }

  /// One that is not ordinary goes when it has had nothing to do for a while, or at once where it
  /// is in the way of one that is: what is unknown can go there as well.
  func closeIdle(_ now: UInt64) {
    let isInTheWay = isOneMissing
    for place in unprovenPlaces {
      guard let connection = places[place].connection,
        isInTheWay || (topics.apartCount == 0 && isIdle(connection, now))
      else { continue }
      connection.retire("no unknown tokens left")
    }
    guard waiting.suspectCount == 0 else { return }
    for place in helperPlaces {
      guard let connection = places[place].connection, connection.inFlight == 0,
        isInTheWay || isIdle(connection, now)
      else { continue }
      connection.retire("no suspects left")
    }
  }

  private func isIdle(_ connection: any PushConnection, _ now: UInt64) -> Bool {
    connection.inFlight == 0 && now &- connection.lastUsedAt > Self.idle
  }

  /// From now on pushes go with this: connections that must not show it end when what is in
  /// flight on them is answered, and others take their places. A server that let nobody in with
  /// what was shown before may do so now.
  func show(_ proof: SenderProof, at now: UInt64) {
    if !shown.mayPresent(proof, at: now) {
      shown = PresentedCredentials(setup.credentials)
      reopen()
    }
    shown.show(proof.token, at: now)
    isShowingOther = true
    defer { isShowingOther = false }
    for place in places.indices {
      guard let connection = places[place].connection, !connection.shown.mayPresent(proof, at: now)
      else { continue }
      connection.retire("it has shown other credentials")
    }
  }
}
