import Deliver
import Ingest
import Kafka
import Model

/// Which lists of stragglers are worked on and which rest again, unread: a pure machine.
///
/// A list whose route is closed as its lane sees it rests: claiming, reading and rendering it would
/// come to nothing, and keep those waiting whose routes are open. One list at a time is worked on
/// all the same, so that something asks whether the route is open again; it goes behind the others
/// then, and another one asks next. A list whose pushes were not all refused need not stand behind
/// those that were: Apple may take it and not them.
struct StragglerAdmission {
  /// What a lane sees of a route.
  struct RouteState: Equatable {
    /// Nothing is taken at the moment.
    var isClosed = false
    /// Credentials are held.
    var isHeld = false
    /// The environment takes pushes slowly.
    var isSlow = false
    /// Nearly nothing of the list's event is taken.
    var isStuck = false
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
    /// What waits for a slow route, or gets nowhere, needs no place meanwhile.
    case workWithoutPlace(APNsEnvironment, bytes: Int)
    case putOff
  }

  /// Lists with pushes that were not refused, of one route, that are worked on while credentials
  /// are held: one push asks each half second, and a list stays for two (`straggleAfter`).
  static let maximumAsking = 4
  /// Bytes of the lists of a slow environment that are worked on at a time: some 2,000 pushes. As
  /// much as keeps it busy until the others come again, which rest unread.
  static let maximumSlowBytes = 4 * IngestOptions.stragglerBytes

  /// The same of events that get nowhere: few of their pushes are tried in a while, and the others
  /// leave again.
  static let maximumStuckBytes = IngestOptions.stragglerBytes

  /// Lists of closed routes that are worked on.
  private var probing: [Probe: Int] = [:]
  /// Bytes of the lists of slow environments that are worked on.
  private var slowBytes: [APNsEnvironment: Int] = [:]

  /// What becomes of a list; `end` is called with the answer when that is over.
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
    if let time = label.askAgainAt, time > now { return .putOff }
    guard state.isClosed else {
      guard state.isSlow || state.isStuck else { return .work }
      let most = state.isStuck ? Self.maximumStuckBytes : Self.maximumSlowBytes
      return admitSlowly(route.environment, bytes, atMost: most)
    }
    let probe = Probe(route: route, isRefused: label.isRefused)
    let limit = !label.isRefused && state.isHeld ? Self.maximumAsking : 1
    guard probing[probe, default: 0] < limit else { return .putOff }
    probing[probe, default: 0] += 1
    return .probe(probe)
  }

  private mutating func admitSlowly(
    _ environment: APNsEnvironment, _ bytes: Int, atMost most: Int
  ) -> Decision {
    let others = slowBytes[environment, default: 0]
    guard others == 0 || others + bytes <= most else { return .putOff }
    slowBytes[environment] = others + bytes
    return .workWithoutPlace(environment, bytes: bytes)
  }

  mutating func end(_ decision: Decision) {
    switch decision {
    case .work, .putOff: return
    case .probe(let probe):
      probing[probe, default: 1] -= 1
      if probing[probe] == 0 { probing[probe] = nil }
    case .workWithoutPlace(let environment, let bytes):
      slowBytes[environment, default: bytes] -= bytes
    }
  }
}

/// Where a lane's records of stragglers come in. Confined to its lane.
final class StragglerGate {
  typealias Work = (KafkaMessage, _ vacate: @escaping () -> Void) async throws -> Receipt

  private let options: PipelineOptions
  private let deliver: DeliverStage
  private let labels: StragglerLabels
  private let times: StragglerTimes
  private let delays: StragglerDelays
  private let runs: SegmentRuns
  private var admission = StragglerAdmission()

  init(
    options: PipelineOptions, deliver: DeliverStage, labels: StragglerLabels,
    times: StragglerTimes, delays: StragglerDelays, runs: SegmentRuns
  ) {
    self.options = options
    self.deliver = deliver
    self.labels = labels
    self.times = times
    self.delays = delays
    self.runs = runs
  }

  /// Has a record worked on, or puts it off.
  func pass(
    _ message: KafkaMessage, _ vacate: @escaping () -> Void, work: Work
  ) async throws -> Receipt {
    let label = labels.complete(of: message)
    let decision = admission.admit(
      label, bytes: message.valueBytes, left: label.expiresAt.map { times.left(until: $0) },
      now: options.wallClock(), route: state(of: label, message))
    defer { admission.end(decision) }
    switch decision {
    case .putOff: return try await delays.putOff(message, label, vacate)
    case .workWithoutPlace: vacate()
    case .work, .probe: break
    }
    return try await work(message, vacate)
  }

  private func state(
    of label: StragglerLabel, _ message: KafkaMessage
  ) -> StragglerAdmission.RouteState {
    guard let route = label.route else { return StragglerAdmission.RouteState() }
    let fanOut = SegmentRecord.event(ofKey: message.key).flatMap(runs.fanOut)
    return StragglerAdmission.RouteState(
      isClosed: deliver.isClosed(route), isHeld: deliver.isHeld(route),
      isSlow: deliver.yields(route),
      isStuck: fanOut.map { deliver.getsNowhere($0, on: route) } ?? false)
  }
}
