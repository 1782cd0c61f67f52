/// The places for connections of a route, and what is in them. Behind the ordinary ones, and those
/// that may become such, are those of probe connections, which find out which push a server closes
/// connections for.
struct ConnectionPlaces {
  /// While one waits for an answer others go on: 32 pushes at a time after a first loss.
  static let probeCount = 4

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

  init(_ options: DeliverOptions) {
    growth = ConnectionGrowth(options)
    streamsPerConnection = options.streamsPerConnection
    places = Array(
      repeating: ConnectionPlace(),
      count: growth.most + Self.probeCount)
  }

  subscript(place: Int) -> ConnectionPlace {
    get { places[place] }
    _modify { yield &places[place] }
  }

  var indices: Range<Int> { places.indices }

  var ordinary: Range<Int> { 0..<growth.wanted }
  var probes: Range<Int> { growth.most..<places.count }

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

  /// It is closed.
  mutating func remove(_ connection: any PushConnection) {
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

  /// An ordinary connection is not admitted: another may have taken what it would be. One that was
  /// opened besides is not missed.
  var isOneMissing: Bool {
    places[..<growth.least].contains { $0.cameToNothing && $0.connection?.phase != .open }
  }

  /// The ordinary connections take turns: none is always the last to be filled.
  mutating func beginTurn() { next = (next + 1) % ordinary.count }

  func inTurn(_ offset: Int) -> (any PushConnection)? {
    places[(next + offset) % ordinary.count].connection
  }

  func flush() {
    for place in indices { places[place].connection?.flushIfNeeded() }
    for connection in retiring { connection.flushIfNeeded() }
  }
}
