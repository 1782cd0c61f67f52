import JSON
import Model
import Record
import Text

/// A fan-out as the page gets it. Numbers that nobody knows are null.
struct FanOutView {
  let event: String
  /// Of the stream; nil: it has none, or its event is not known.
  var title: String?
  let status: FanOutStatus
  let rate: CounterRate
  /// The limits of pushes a second that hold pushes up, in the workers' words.
  let limits: [String]
  /// Ms since 1970.
  let now: Int64

  /// The state in one word, and why it is so.
  var state: (state: LiveState, why: String?) {
    let state = status.liveState(of: event, rate: rate.perSecond, limits: limits)
    let why: String? =
      switch state {
      case .scheduled: status.releaseProblem ?? status.sendAt.map { "for \($0.text)" }
      case .paused, .cancelled: Self.some(status.haltReason)
      case .incomplete: "segments in the dead letters or lost: \(status.deadLettered)"
      case .expired: "the event was read after its expiry"
      case .limited: FanOutStatus.limit(of: event, among: limits)
      case .running, .waiting: Self.some(status.obstacle)
      case .done, .unknown: nil
      }
    return (state, why)
  }

  /// About how long it goes on at the rate of the last seconds; nil: nobody knows.
  var secondsLeft: Int64? {
    guard !status.hasEnded, status.halt == nil, let rate = rate.perSecond, rate > 0,
      let total = status.progress.total
    else { return nil }
    let seconds = Double(max(0, total - status.progress.done)) / rate
    return seconds < 1e9 ? Int64(seconds.rounded(.up)) : nil
  }

  /// The time between its end, as far as that is known, and its expiry, in ms: where it is below 0,
  /// pushes will expire.
  var slack: Int64 {
    guard let expiry = expiry else { return .max }
    return expiry - now - (secondsLeft ?? 0) * 1000
  }

  /// Nothing was sent yet, and nobody has stopped it.
  var isUnsent: Bool {
    status.state == .running && status.halt == nil && status.firstPushAt == 0
      && status.segments > 0
  }

  private var expiry: Int64? { status.numbers["expires_ms"].map { Int64($0) } }

  var members: [(String, JSONValue)] {
    let (state, why) = state
    return [
      ("event", .string(event)), ("streamer", .string(status.streamer)),
      ("template", .string(status.template)), ("title", JSONValue(optional: title)),
      ("state", .string(state.rawValue)), ("state_why", JSONValue(optional: why)),
      ("halted_by", JSONValue(optional: Self.some(status.haltedBy))),
      ("halted_at_ms", status.halt == nil ? .null : time(status.numbers["brake_ms"] ?? 0)),
      ("started_ms", time(status.startedAt)), ("first_push_ms", time(status.firstPushAt)),
      ("last_push_ms", time(status.lastPushAt)), ("ended_ms", time(status.doneAt)),
      ("expires_ms", JSONValue(optional: expiry)),
      ("recipients", number(status.recipients)), ("pushes", number(status.pushes)),
      ("expected_pushes", JSONValue(optional: status.progress.total.map { Int64($0) })),
      ("accepted", number(status.accepted)), ("rejected", number(Self.sum(status.rejected))),
      ("expired", number(status.expired)), ("cancelled", number(status.cancelled)),
      ("suppressed", number(status.suppressed)), ("waiting", number(status.waiting)),
      ("segments", number(status.segments &+ status.stragglers)),
      ("settled", number(status.settled)),
      ("rate", status.hasEnded ? .null : JSONValue(rounded: rate.perSecond)),
      ("seconds_left", JSONValue(optional: secondsLeft)),
      ("dead_lettered", number(status.deadLettered)),
    ]
  }

  private func number(_ number: Int) -> JSONValue { .integer(Int64(number)) }
  private func time(_ milliseconds: Int) -> JSONValue {
    milliseconds > 0 ? number(milliseconds) : .null
  }

  static func sum(_ counts: [String: Int]) -> Int { counts.values.reduce(0, &+) }
  private static func some(_ text: String) -> String? { text.isEmpty ? nil : text }

  /// Those that go on come first, by how close to their expiry they end; then the others, the
  /// newest first, in which order they must come.
  static func ordered(_ views: [FanOutView]) -> [FanOutView] {
    let running = views.enumerated().filter { !$0.element.status.hasEnded }
    let ended = views.filter { $0.status.hasEnded }
    return running.sorted { ($0.element.slack, $0.offset) < ($1.element.slack, $1.offset) }
      .map(\.element) + ended
  }
}

extension JSONValue {
  init(optional text: String?) { self = text.map { .string($0) } ?? .null }
  init(optional number: Int64?) { self = number.map { .integer($0) } ?? .null }

  /// To a tenth.
  init(rounded number: Double?) {
    guard let number, number.isFinite else {
      self = .null
      return
    }
    self = .double((number * 10).rounded() / 10)
  }
}
