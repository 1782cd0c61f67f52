import Model
import Text

/// The filter of a tap. Nil: any value.
package struct TapFilter: Sendable, Equatable {
  package var event: String?
  package var streamer: String?
  /// As `Outcome.name` says it.
  package var outcome: String?
  /// The platform's name of a reason, or the name of a rule.
  package var reason: String?
  /// As `Platform.name` says it.
  package var platform: String?

  package init() {}

  package func concerns(event: String, streamer: String) -> Bool {
    self.event?.isExactly(event) ?? true && self.streamer?.isExactly(streamer) ?? true
  }

  /// - Parameter platform: nil for what is of none; a filter of platforms leaves it out.
  package func takes(_ outcome: Outcome, platform: String?) -> Bool {
    (self.outcome == nil || self.outcome == outcome.name)
      && (reason == nil || reason == outcome.reason)
      && (self.platform == nil || self.platform == platform)
  }

  package func takes(_ sample: TapSample) -> Bool {
    func matches(_ wanted: String?, _ text: String) -> Bool { wanted?.isExactly(text) ?? true }
    return concerns(event: sample.event, streamer: sample.streamer)
      && matches(outcome, sample.outcome) && matches(reason, sample.reason)
      && matches(platform, sample.platform)
  }

  fileprivate mutating func set(_ name: Substring, _ value: Substring) {
    switch name {
    case "event": event = String(value)
    case "streamer": streamer = String(value)
    case "outcome": outcome = String(value)
    case "reason": reason = String(value)
    case "platform": platform = String(value)
    default: break
    }
  }

  fileprivate var lines: [String] {
    [
      ("event", event), ("streamer", streamer), ("outcome", outcome), ("reason", reason),
      ("platform", platform),
    ].compactMap { name, value in value.map { "\(name)=\($0)" } }
  }

  /// Whether each text fits into a line of a request.
  package var isWritable: Bool {
    lines.allSatisfy { line in line.utf8.count <= 512 && line.utf8.allSatisfy { $0 >= 0x20 } }
  }
}

/// The request of all taps together, as a worker reads it.
package struct TapRequest: Sendable, Equatable {
  /// Taps at most: each costs every outcome a comparison.
  package static let maximumTaps = 8
  /// Samples a second at most, of all workers together.
  package static let maximumRate = 200

  /// The key of the hashes of tokens: the same for all workers, another for each time that
  /// somebody taps.
  package let secret: String
  package let filters: [TapFilter]
  /// Samples a second, of all workers together: the highest that a tap asks for.
  package let rate: Int

  package init(secret: String, filters: [TapFilter], rate: Int) {
    self.secret = secret
    self.filters = filters
    self.rate = min(max(rate, 1), Self.maximumRate)
  }

  /// Nil while nobody taps, and for what no tap wrote.
  init?(fields: [(name: String, value: String)]) {
    guard let secret = fields.first(where: { $0.name == "secret" })?.value else { return nil }
    var filters: [TapFilter] = []
    var rate = 0
    for field in fields where field.name != "secret" && filters.count < Self.maximumTaps {
      var filter = TapFilter()
      for line in field.value.split(separator: "\n") {
        let sides = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2 else { continue }
        if sides[0] == "rate" { rate = max(rate, Int(sides[1]) ?? 0) }
        filter.set(sides[0], sides[1])
      }
      filters.append(filter)
    }
    guard !filters.isEmpty else { return nil }
    self.init(secret: secret, filters: filters, rate: rate)
  }

  /// One tap's part of it.
  static func text(_ filter: TapFilter, rate: Int) -> String {
    (["rate=\(rate)"] + filter.lines).joined(separator: "\n")
  }
}

/// One outcome, as somebody who taps sees it. It names no token.
package struct TapSample: Sendable, Equatable {
  /// Ms since 1970.
  package var at: Int64
  package var event: String
  package var streamer: String
  /// Empty, as the environment, for pushes that a rule kept.
  package var platform: String
  package var environment: String
  package var app: String
  package var outcome: String
  /// Empty where the outcome says it all.
  package var reason: String
  /// Requests that left for the push.
  package var attempts: Int
  /// From the request to its answer; nil where none was answered.
  package var milliseconds: Double?
  /// 16 hex digits of a keyed hash; empty where there is no token.
  package var token: String
  package var worker: String

  package init(
    at: Int64, event: String, streamer: String, platform: String, environment: String,
    app: String, outcome: String, reason: String, attempts: Int, milliseconds: Double?,
    token: String, worker: String
  ) {
    self.at = at
    self.event = event
    self.streamer = streamer
    self.platform = platform
    self.environment = environment
    self.app = app
    self.outcome = outcome
    self.reason = reason
    self.attempts = attempts
    self.milliseconds = milliseconds
    self.token = token
    self.worker = worker
  }

  /// Of an entry of the stream, whoever wrote it: what is missing is empty.
  init(fields: [String: String]) {
    func text(_ name: String) -> String { fields[name] ?? "" }
    self.init(
      at: Int64(text("at_ms")) ?? 0, event: text("event"), streamer: text("streamer"),
      platform: text("platform"), environment: text("environment"), app: text("app"),
      outcome: text("outcome"), reason: text("reason"), attempts: Int(text("attempts")) ?? 0,
      milliseconds: Double(text("answer_ms")), token: text("token"), worker: text("worker"))
  }

  /// Names and values in turn.
  var entry: [String] {
    // Tenths of a millisecond.
    let milliseconds = milliseconds.map { "\(Double(Int(min($0, 1e9) * 10)) / 10)" } ?? ""
    return [
      "at_ms", String(at), "event", event, "streamer", streamer, "platform", platform,
      "environment", environment, "app", app, "outcome", outcome, "reason", reason, "attempts",
      String(attempts), "answer_ms", milliseconds, "token", token, "worker", worker,
    ]
  }
}
