/// The places for connections of a route, and what is in them. Behind the ordinary ones, and those
/// that may become such, are those for tokens of which nothing is known (`TokenSeparation`), and
/// last those of helpers, for trouble: they find out which push closes connections, and spread what
/// is in flight while many do, so that little is lost with each.
struct ConnectionPlaces {
  /// While one is replaced, another takes what is unknown: bad tokens cost them their streams.
  static let unprovenCount = 2
  /// Some of few pushes go there: 48 streams of each send 1,600 a second to an Apple that is 60 ms
  /// away.
  static let unprovenStreams = 48
  /// With the ordinary two, four times as much as goes over these with the same window; Apple asks
  /// to spread pushes over connections, but not to open many at once.
  static let helperCount = 6

  /// A server that says GOAWAY and does not answer keeps what it was sent in memory here: as many
  /// pushes as are in flight on so many full connections.
  private static let maximumRetiringFull = 16
  /// However little waits on each of them: one push without an answer keeps its connection for as
  /// long as it may wait, and a server may go away a hundred times meanwhile. Each takes some 400
  /// KB.
  private static let maximumRetiring = 64

  /// How many of them are ordinary.
  var growth: ConnectionGrowth
  private var places: [ConnectionPlace]
  /// GOAWAY or our own wish took them out; they live until what is in flight is answered.
  private var retiring: [any PushConnection] = []
  private let streamsPerConnection: Int
  private var next = 0
  var counts = ConnectionCounts()
  /// In flight on a new connection at most, until it has carried as many; nil: no such bound.
  private(set) var loadAtFirst: Int?
  /// Of the ordinary connection that suspects have, for want of a helper.
  var lent: Int?

  init(_ options: DeliverOptions) {
    growth = ConnectionGrowth(options)
    streamsPerConnection = options.streamsPerConnection
    places = Array(
      repeating: ConnectionPlace(),
      count: growth.most + Self.unprovenCount + Self.helperCount)
  }

  subscript(place: Int) -> ConnectionPlace {
    get { places[place] }
    _modify { yield &places[place] }
  }

  var count: Int { places.count }
  var indices: Range<Int> { places.indices }

  var ordinary: Range<Int> { 0..<growth.wanted }
  var unproven: Range<Int> { growth.most..<growth.most + Self.unprovenCount }
  var helpers: Range<Int> { unproven.upperBound..<places.count }

  /// For what was never answered; for ordinary pushes while there is nothing of the kind.
  var silent: Int { places.count - 1 }

  func isOrdinary(_ place: Int) -> Bool { ordinary.contains(place) }

  func place(of connection: any PushConnection) -> Int? {
    places.firstIndex { $0.connection === connection }
  }

  var connections: [any PushConnection] { places.compactMap(\.connection) }

  /// With those that only wait for their last answers.
  var all: [any PushConnection] { connections + retiring }

  var inFlight: Int {
    places.reduce(0) { $0 + ($1.connection?.inFlight ?? 0) }
      + retiring.reduce(0) { $0 + $1.inFlight }
  }

  var mayRetireMore: Bool {
    retiring.count < Self.maximumRetiring
      && retiring.reduce(0) { $0 + $1.inFlight } < Self.maximumRetiringFull * streamsPerConnection
  }

  mutating func retire(_ connection: any PushConnection) { retiring.append(connection) }

  /// It is not in its place any more. One that was made to pay for bad tokens ended for their sake,
  /// and one that ended without a GOAWAY was not bounded: what was learnt is void.
  mutating func vacate(_ place: Int, _ connection: any PushConnection) {
    places[place].connection = nil
    if !connection.wasSentAway || connection.cut.isPunished { loadAtFirst = nil }
    learn(from: connection)
  }

  /// A server that goes away after some requests leaves out what is sent behind them, which then
  /// goes once more: the next connections have about as many in flight at first as this one took.
  private mutating func learn(from connection: any PushConnection) {
    guard !connection.cut.isPunished, let taken = connection.tookBeforeOthers else { return }
    loadAtFirst = max(taken, ConnectionPlace.usefulPushes) * 9 / 8
  }

  /// It is closed. What it took, a server may have said with a second GOAWAY alone (RFC 9113,
  /// section 6.8).
  mutating func remove(_ connection: any PushConnection) {
    learn(from: connection)
    retiring.removeAll { $0 === connection }
  }

  /// The places that waited for one that was retiring to be gone: it may be now.
  var dueForOpening: [Int] {
    mayRetireMore ? indices.filter { places[$0].waitsForRetiring } : []
  }

  mutating func forgetRetiring() { retiring = [] }

  /// Ordinary ones that are open.
  var openCount: Int { ordinary.count { places[$0].connection?.phase == .open } }

  /// Pushes that those may have in flight together.
  var streamLimit: Int { open.reduce(0) { $0 + $1.streams } }

  /// Those that are open of the ordinary ones.
  var open: [any PushConnection] {
    places[ordinary].compactMap(\.connection).filter { $0.phase == .open }
  }

  /// An ordinary connection takes pushes now.
  var takes: Bool { places[ordinary].contains { ($0.connection?.capacity ?? 0) > 0 } }

  /// Some ordinary connection was closed for being idle, and comes back with the next push.
  var areResting: Bool { places[ordinary].contains(where: \.isResting) }

  /// Of the ordinary connections without the last.
  var streamsWithoutLast: Int {
    places[ordinary.dropLast()].reduce(0) { $0 + ($1.connection?.streams ?? 0) }
  }

  /// What is sent there at most.
  func load(at place: Int) -> ConnectionLoad {
    let most =
      unproven.contains(place)
      ? min(streamsPerConnection, Self.unprovenStreams)
      : StreamCapacity.streams(forAll: streamsPerConnection)
    return ConnectionLoad(most: most, first: loadAtFirst)
  }

  /// An ordinary connection is not admitted: another may have taken what it would be. One that was
  /// opened besides is not missed.
  var isOneMissing: Bool {
    places[..<growth.least].contains { $0.cameToNothing && $0.connection?.phase != .open }
  }

  /// The ordinary connections take turns: none is always the last to be filled.
  mutating func beginTurn() { next = (next + 1) % ordinary.count }

  /// - Returns: nil also for one that is lent to suspects.
  func inTurn(_ offset: Int) -> (any PushConnection)? {
    let place = (next + offset) % ordinary.count
    return place == lent ? nil : places[place].connection
  }

  func flush() {
    for place in indices { places[place].connection?.flushIfNeeded() }
    for connection in retiring { connection.flushIfNeeded() }
  }
}
