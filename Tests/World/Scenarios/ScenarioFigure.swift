/// What is measured of a scenario.
enum ScenarioFigure: Hashable, Sendable, CustomStringConvertible {
  /// Seconds from an event's record in Kafka to the usual answer to its last push that was
  /// accepted.
  case lastPush(String)
  /// The same of the event's devices of a platform.
  case lastPushOf(WorldPlatform, String)
  /// Devices of a platform that a push was accepted for.
  case reached(WorldPlatform)
  /// As `lastPush`, divided by the time that it takes when nothing disturbs.
  case ratio(String)
  /// Seconds from the first event until the books of all are closed.
  case settled
  /// Pushes accepted a second between the first and the last twentieth of those that can be
  /// accepted, divided by that when nothing disturbs.
  case goodput
  /// Requests that were neither accepted nor refused for good.
  case inVain
  /// Devices that no push reached, and of which the books tell no other outcome.
  case lost
  /// Accepted pushes above one for a device.
  case doubled
  /// Devices that the books of an event tell another outcome of.
  case rejected(String)
  case expired(String)
  case cancelled(String)
  /// Bytes that the batches of a lane took at most, divided by their part of the memory budget.
  case memory
  /// Requests for an event in this time, in seconds after the first event.
  case requests(String, ClosedRange<Double>)
  /// A field of the event's hash.
  case counted(String, field: String)
  /// What a worker said of itself when it was looked at: a field of its heartbeat, of a text its
  /// length.
  case heard(String, field: String)
  /// A series of its metrics then.
  case measured(String, series: String)
  /// Records that tell of tokens.
  case news
  /// In how many ways the statistics are not the sum of the events.
  case wrongSums
  /// A counter of the statistics.
  case stats(String)
  /// Records that were ever written to a topic that workers read.
  case records(topic: Int)
  /// Those of all such topics that are not committed.
  case uncommitted
  /// The bytes of the largest of them.
  case largestRecord
  /// Records in the dead letters.
  case letters
  /// Workers that said that they cannot go on.
  case failures
  /// A counter of the statistics when a worker was looked at, and one of an event's.
  case statsAt(String, String)
  case countedAt(String, String, field: String)
  /// Records that the worker had read then, and that were not committed.
  case readAhead(String)
  /// How often somebody has read the members of a shard of followers.
  case followersRead
  /// Devices by which the books and Apple's ledger differ.
  case miscounted

  /// It needs an undisturbed run.
  var isComparison: Bool {
    switch self {
    case .ratio, .goodput: true
    default: false
    }
  }

  var description: String {
    switch self {
    case .lastPush(let event): "last push of \(event)"
    case .lastPushOf(let platform, let event): "last push of \(event) to \(platform)"
    case .reached(let platform): "reached of \(platform)"
    case .ratio(let event): "last push of \(event) ÷ undisturbed"
    case .settled: "settled"
    case .goodput: "goodput ÷ undisturbed"
    case .inVain: "in vain"
    case .lost: "lost"
    case .doubled: "doubled"
    case .rejected(let event): "rejected of \(event)"
    case .expired(let event): "expired of \(event)"
    case .cancelled(let event): "cancelled of \(event)"
    case .memory: "batches ÷ budget"
    case .requests(let event, let time):
      "requests for \(event) between \(ScenarioText.number(time.lowerBound)) and "
        + "\(ScenarioText.number(time.upperBound)) s"
    case .miscounted: "miscounted"
    case .records(let topic): "records of topic \(topic)"
    case .uncommitted: "not committed"
    case .largestRecord: "bytes of the largest record"
    case .letters: "dead letters"
    case .statsAt(let look, let name): "\(name) of the statistics at \(look)"
    case .countedAt(let look, let event, let field): "\(field) of \(event) at \(look)"
    case .readAhead(let look): "records read ahead at \(look)"
    case .followersRead: "reads of followers"
    case .failures: "workers that cannot go on"
    case .counted(let event, let field): "\(field) of \(event)"
    case .news: "news of tokens"
    case .wrongSums: "wrong sums"
    case .stats(let name): "\(name) of the statistics"
    case .heard(let look, let field): "heartbeat's \(field) at \(look)"
    case .measured(let look, let series): "\(series) at \(look)"
    }
  }
}

/// Within what a figure has to be.
package struct ScenarioBound: Sendable {
  let figure: ScenarioFigure
  let range: ClosedRange<Double>
  /// What the documents promise, where the code keeps only `range`.
  var missed: String?

  static func most(_ figure: ScenarioFigure, _ value: Double) -> ScenarioBound {
    ScenarioBound(figure: figure, range: -.infinity...value)
  }

  static func least(_ figure: ScenarioFigure, _ value: Double) -> ScenarioBound {
    ScenarioBound(figure: figure, range: value ... .infinity)
  }

  static func exactly(_ figure: ScenarioFigure, _ value: Double) -> ScenarioBound {
    ScenarioBound(figure: figure, range: value...value)
  }

  static func within(_ figure: ScenarioFigure, _ range: ClosedRange<Double>) -> ScenarioBound {
    ScenarioBound(figure: figure, range: range)
  }

  /// The code keeps this bound, and not the one that is promised.
  func known(toMiss promise: String) -> ScenarioBound {
    var bound = self
    bound.missed = promise
    return bound
  }

  var text: String {
    switch (range.lowerBound, range.upperBound) {
    case (-.infinity, let most): "≤ \(ScenarioText.number(most))"
    case (let least, .infinity): "≥ \(ScenarioText.number(least))"
    case (let least, let most) where least == most: "= \(ScenarioText.number(most))"
    case (let least, let most): "\(ScenarioText.number(least))–\(ScenarioText.number(most))"
    }
  }
}

extension [ScenarioBound] {
  /// Nobody is left out, and the books are right.
  static let nobodyLost: [ScenarioBound] = [
    .exactly(.lost, 0), .exactly(.miscounted, 0), .exactly(.wrongSums, 0), .most(.memory, 1),
    .exactly(.uncommitted, 0), .most(.largestRecord, 66_000),
  ]
  /// And nobody is told twice.
  static let onceEach: [ScenarioBound] = nobodyLost + [.exactly(.doubled, 0)]
}

enum ScenarioText {
  /// With three digits, and without what says nothing.
  static func number(_ value: Double) -> String {
    guard value.isFinite else { return "never" }
    if value == value.rounded(), abs(value) < 1e12 { return "\(Int(value))" }
    let digits = abs(value) >= 100 ? 0 : abs(value) >= 10 ? 1 : 2
    let scale = [1.0, 10, 100][digits]
    let rounded = Int((value * scale).rounded())
    guard digits > 0 else { return "\(rounded)" }
    let (whole, part) = (rounded / Int(scale), abs(rounded % Int(scale)))
    let text = String(part)
    return "\(whole)." + String(repeating: "0", count: digits - text.utf8.count) + text
  }
}
