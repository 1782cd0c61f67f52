import EventLoop

/// The connections of a route, each in a slot. Behind the ordinary slots, and those that may become
/// such, are the slots of probe connections, which find out for which push a server closes
/// connections.
struct ConnectionSlots {
  /// A server that says GOAWAY and does not answer keeps what it was sent in memory here: as many
  /// pushes as are in flight on so many full connections.
  private static let maximumRetiringFull = maximumRetiring / 4
  /// However little waits on each of them: one push without an answer keeps its connection, and a
  /// server may go away a hundred times meanwhile. Each takes some 400 KB.
  private static let maximumRetiring = 64

  /// How many of them are ordinary.
  var growth: ConnectionGrowth
  private var slots: [ConnectionSlot]
  /// GOAWAY or our own wish took them out; they live until what is in flight is answered.
  var retiring: [any PushConnection] = []
  private let streamsPerConnection: Int
  private var next = 0
  var counts = ConnectionCounts()

  init(_ options: DeliverOptions) {
    growth = ConnectionGrowth(options)
    streamsPerConnection = options.streamsPerConnection
    slots = Array(repeating: ConnectionSlot(), count: growth.most + Evidence.mostAsking)
  }

  subscript(slot: Int) -> ConnectionSlot {
    get { slots[slot] }
    _modify { yield &slots[slot] }
  }

  var indices: Range<Int> { slots.indices }
  var ordinary: Range<Int> { 0..<growth.wanted }
  var probes: Range<Int> { growth.most..<slots.count }

  func slot(of connection: any PushConnection) -> Int? {
    slots.firstIndex { $0.connection === connection }
  }

  /// With those that only wait for their last answers.
  var all: [any PushConnection] { slots.compactMap(\.connection) + retiring }

  var inFlight: Int { all.reduce(0) { $0 + $1.inFlight } }

  var mayRetireMore: Bool {
    retiring.count < Self.maximumRetiring
      && retiring.reduce(0) { $0 + $1.inFlight } < Self.maximumRetiringFull * streamsPerConnection
  }

  mutating func removeAll() {
    for slot in indices {
      slots[slot].opening?.cancel()
      slots[slot].connection = nil
    }
    retiring = []
  }

  /// The ordinary ones that are open.
  var open: [any PushConnection] {
    slots[ordinary].compactMap(\.connection).filter { $0.phase == .open }
  }

  var openCount: Int { ordinary.count { slots[$0].connection?.phase == .open } }

  /// Pushes that those may have in flight together.
  var streamLimit: Int { open.reduce(0) { $0 + $1.streams } }

  /// An ordinary connection takes pushes now.
  var takes: Bool { slots[ordinary].contains { ($0.connection?.capacity ?? 0) > 0 } }

  /// The ordinary connections take turns: none is always the last to be filled.
  mutating func beginTurn() { next = (next + 1) % ordinary.count }

  func inTurn(_ offset: Int) -> (any PushConnection)? {
    slots[(next + offset) % ordinary.count].connection
  }

  func flush() {
    for slot in indices { slots[slot].connection?.flushIfNeeded() }
    for connection in retiring { connection.flushIfNeeded() }
  }
}

/// A slot for one connection, and how long the next one waits. Servers take rapid connecting and
/// disconnecting for an attack, so the pauses grow while connections are of no use.
package struct ConnectionSlot {
  var connection: (any PushConnection)?
  /// Runs until the next connection is opened.
  var opening: LoopTimer?
  /// Its connection was closed for being idle: the next push opens another at once.
  var isResting = false
  /// Its last connection could not be made, and it waits for the next try.
  var wasRefused = false
  /// Its last connection carried enough to be replaced at once: a server that ends connections
  /// after some requests, and is in good order, sets the pace.
  private(set) var isEarned = false
  private var failures = 0
  /// Requests for calm are no failures: after them a failure would be waited out for longer.
  private var calms = 0
  /// A server that closes what is idle is in good order: this slows down only what nobody needs.
  private var idleCloses = 0

  /// It has no connection, and none is about to be opened.
  var isVacant: Bool { connection == nil && opening == nil }

  /// How a connection ended.
  package enum End: Equatable {
    /// It carried so many pushes that were answered, or will be; 0: of no use at all.
    case carried(Int)
    /// Nothing had been in flight for a while: servers close such connections.
    case idle
    /// ENHANCE_YOUR_CALM, however much it has taken.
    case calm
  }

  /// A connection that carried so many is replaced at once. Node's http2 closes after 50.
  package static let usefulPushes = 20
  /// For one that carried fewer, the less the more it carried, and for one that was asked for calm:
  /// a server of such habits is slow, but not out of order.
  private static let longestAfterSome: Duration = .seconds(5)

  /// The cause of its failures was not the server: probes, bad tokens, or old credentials.
  mutating func forgive() { (failures, calms) = (0, 0) }

  /// Its next connection is about to be opened: nothing is waited for any more.
  mutating func begin() {
    opening?.cancel()
    opening = nil
    isResting = false
    wasRefused = false
  }

  /// How long to wait with the next connection.
  /// - Parameter wasCut: the server took streams from it for bad tokens. It would do that to the
  ///   next as well: they come no more often than others.
  mutating func delay(
    after end: End, wasCut: Bool = false, retry: RetryPolicy, chance: UInt64
  ) -> Duration {
    isEarned = false
    switch end {
    case .carried(let pushes) where pushes >= Self.usefulPushes:
      forgive()
      idleCloses = 0
      isEarned = !wasCut
      return .zero
    case .carried(let pushes):
      failures += 1
      let delay = retry.backOff(tries: failures, chance: chance)
      guard pushes > 0 else { return delay }
      let missing = Self.usefulPushes - pushes
      return min(delay, Self.longestAfterSome / Self.usefulPushes * missing)
    case .calm:
      calms += 1
      return min(retry.backOff(tries: calms, chance: chance), Self.longestAfterSome)
    case .idle:
      forgive()
      idleCloses += 1
      isResting = true
      return retry.backOff(tries: idleCloses, chance: chance)
    }
  }
}
