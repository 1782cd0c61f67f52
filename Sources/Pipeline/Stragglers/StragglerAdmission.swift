import EventLoop
import Ingest
import Kafka
import Model
import Text

/// Which lists of stragglers are worked on and which rest again, unread: a pure machine.
///
/// A list whose route is closed as its lane sees it rests: claiming, reading and rendering it would
/// come to nothing, and keep those waiting whose routes are open. One list at a time is worked on
/// all the same, so that something asks whether the route is open again; it goes behind the others
/// then, and another one asks next. A list whose pushes were not all refused need not stand behind
/// those that were: Apple may take it and not them.
struct StragglerAdmission {
  /// A lane's view of a route.
  struct RouteState: Equatable {
    /// Nothing is taken at the moment.
    var isClosed = false
    /// Credentials are held.
    var isHeld = false
    /// The environment takes pushes slowly.
    var isSlow = false
    /// Nearly nothing of the list's event is taken.
    var isOutlier = false
  }

  /// A list that is let through to ask whether its route is open.
  struct Probe: Hashable {
    let route: PushRoute
    /// All its pushes were refused before.
    let isRefused: Bool
  }

  enum Decision: Equatable {
    case work
    /// Its route is closed, and this list asks.
    case probe(Probe)
    /// Pushes of a slow route, or that make no progress, need no slot meanwhile.
    case workWithoutSlot(Destination, bytes: Int)
    case deferred
  }

  /// Lists with pushes that were not refused, of one route, that are worked on while credentials
  /// are held: one push asks each half second, and a list stays for two (`straggleAfter`).
  static let maximumAsking = 4
  /// Bytes of the lists of a slow environment that are worked on at a time: some 2,000 pushes. As
  /// much as keeps it busy until the others come again, which rest unread.
  static let maximumSlowBytes = 4 * IngestOptions.stragglerBytes

  /// The same of events that get nowhere: few of their pushes are tried in a while, and the others
  /// leave again.
  static let maximumOutlierBytes = IngestOptions.stragglerBytes

  /// Lists of closed routes that are worked on.
  private var probing: [Probe: Int] = [:]
  /// Bytes of the lists of slow environments that are worked on.
  private var slowBytes: [Destination: Int] = [:]

  /// Decides about a list; `end` is called with the answer when that is over.
  ///
  /// - Parameters:
  ///   - left: until the event expires.
  ///   - now: in ms since 1970.
  mutating func admit(
    _ label: StragglerLabel, bytes: Int, left: Duration?, now: Int64, route state: RouteState
  ) -> Decision {
    // Without a route nobody knows better, and at the end there is no other try.
    guard let route = label.route, let left, left > StragglerTimes.lastTryBeforeExpiry * 3 / 2
    else { return .work }
    if let time = label.askAgainAt, time > now { return .deferred }
    guard state.isClosed else {
      guard state.isSlow || state.isOutlier else { return .work }
      let most = state.isOutlier ? Self.maximumOutlierBytes : Self.maximumSlowBytes
      return admitSlowly(route.destination, bytes, atMost: most)
    }
    let probe = Probe(route: route, isRefused: label.isRefused)
    let limit = !label.isRefused && state.isHeld ? Self.maximumAsking : 1
    guard probing[probe, default: 0] < limit else { return .deferred }
    probing[probe, default: 0] += 1
    return .probe(probe)
  }

  private mutating func admitSlowly(
    _ destination: Destination, _ bytes: Int, atMost most: Int
  ) -> Decision {
    let others = slowBytes[destination, default: 0]
    guard others == 0 || others + bytes <= most else { return .deferred }
    slowBytes[destination] = others + bytes
    return .workWithoutSlot(destination, bytes: bytes)
  }

  mutating func end(_ decision: Decision) {
    switch decision {
    case .work, .deferred: return
    case .probe(let probe):
      probing[probe, default: 1] -= 1
      if probing[probe] == 0 { probing[probe] = nil }
    case .workWithoutSlot(let destination, let bytes):
      slowBytes[destination, default: bytes] -= bytes
    }
  }
}

/// How many records of stragglers a lane defers at the moment: a pure machine.
struct DeferralCounts {
  /// Records on their way to the end of the topic that hold no slot meanwhile. Enough that a lane
  /// defers thousands a second at 10 ms a write; at 128 KiB each 16 MiB.
  static let maximumOnTheirWay = 128
  /// Records of a worker that wait in memory for a last try, since Kafka's order would have them
  /// come too late.
  static let maximumLastTries = 64
  /// The longest that a record waits so: its offset cannot be committed meanwhile.
  static let longestLastTry: Duration = .seconds(10)

  private let delay: Duration
  private let maximumLastTries: Int
  private var onTheirWay = 0
  /// Records that wait in the pump for a last try.
  private var lastTries = 0

  /// - Parameter delay: how long records rest in Kafka.
  init(lanes: Int, delay: Duration) {
    self.delay = delay
    maximumLastTries = max(Self.maximumLastTries / lanes, 1)
  }

  /// A record sets out for the end of its topic. Whether it leaves its slot meanwhile.
  mutating func begin() -> Bool {
    defer { onTheirWay += 1 }
    return onTheirWay < Self.maximumOnTheirWay
  }

  mutating func end() { onTheirWay -= 1 }

  /// Whether a record may wait in memory for its last try, which is due in `left`: not when it
  /// comes back from Kafka in time, and not for long.
  mutating func beginLastTry(in left: Duration) -> Bool {
    guard left > .zero, left < delay, left <= Self.longestLastTry, lastTries < maximumLastTries
    else { return false }
    lastTries += 1
    return true
  }

  mutating func endLastTry() { lastTries -= 1 }
}

/// When stragglers are tried again: it only reckons.
struct StragglerTimes: Sendable {
  /// The last try is so long before the expiry.
  static let lastTryBeforeExpiry: Duration = .seconds(1)

  /// How long stragglers rest.
  let delay: Duration
  /// In ms since 1970.
  let wallClock: @Sendable () -> Int64

  /// How long pushes rest that go to Kafka now: shorter than others at the end, so that they have a
  /// last try. After the expiry it is the same for all again.
  func rest(until expiresAt: Int64) -> Duration {
    let left = left(until: expiresAt) - Self.lastTryBeforeExpiry
    return left > .zero ? min(delay, left) : delay
  }

  func left(until expiresAt: Int64) -> Duration {
    .milliseconds(expiresAt - wallClock())
  }

  /// When a record of stragglers may be begun; 0: at once. Monotonic nanoseconds, as `now`.
  func due(_ message: KafkaMessage, now: UInt64) -> UInt64 {
    StragglerLabel(message).notBefore.map { now &+ rest(notBefore: $0).nanoseconds } ?? 0
  }

  /// Workers' clocks differ: a record rests no longer than the delay of its topic.
  func rest(notBefore due: Int64) -> Duration {
    min(.milliseconds(max(due - wallClock(), 0)), delay)
  }
}

extension PipelineOptions {
  var stragglerTimes: StragglerTimes { StragglerTimes(delay: straggleDelay, wallClock: wallClock) }
}
