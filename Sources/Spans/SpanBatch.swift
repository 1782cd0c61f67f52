import JSON

/// The collector's answer.
package enum CollectorReply: Sendable, Equatable {
  /// - Parameter retryAfter: what it asks for.
  case answer(status: Int, body: [UInt8], retryAfter: Duration?)
  /// Nothing, or not in time: why, for an operator.
  case failure(String)

  /// Of the body of an answer: it says at most how many spans it refused, and why.
  package static let maximumBytes = 16 << 10
}

/// The spans that are sent together, until the collector has taken them or they are given up: a
/// pure machine. Which answers ask for another try: OTLP 1.x, "Retryable Response Codes".
struct SpanBatch: Equatable {
  enum Outcome: Equatable {
    /// - Parameter why: it refused some, and says so.
    case taken(refused: Int, why: String?)
    case later(Duration, why: String)
    case dropped(why: String)
  }

  static let maximum = 512
  /// The first three seconds of an outage, its first minute, and no more: the queue behind it holds
  /// as much as it can by then, and news of today's fan-outs is worth more than of yesterday's.
  static let maximumTries = 6
  private static let firstDelay: Duration = .seconds(1)
  private static let longestDelay: Duration = .seconds(30)

  /// Of what the collector says.
  private static let maximumWordBytes = 200

  let spans: [Span]
  private var tries = 0

  init(_ spans: [Span]) { self.spans = spans }

  /// - Parameter fraction: 0..<1, for the jitter.
  mutating func take(_ reply: CollectorReply, fraction: Double) -> Outcome {
    tries += 1
    switch reply {
    case .answer(200..<300, let body, _):
      let refused = Self.refused(body)
      return .taken(refused: min(max(0, refused.count), spans.count), why: refused.why)
    case .answer(let status, _, let retryAfter) where [429, 502, 503, 504].contains(status):
      return again("status \(status)", retryAfter, fraction)
    case .answer(let status, let body, _):
      let words = String(decoding: body.prefix(Self.maximumWordBytes), as: UTF8.self)
      return .dropped(why: "status \(status)" + (words.isEmpty ? "" : ": \(words)"))
    case .failure(let why): return again(why, nil, fraction)
    }
  }

  private func again(_ why: String, _ asked: Duration?, _ fraction: Double) -> Outcome {
    guard tries < Self.maximumTries else { return .dropped(why: why) }
    let step = min(Self.firstDelay * (1 << (tries - 1)), Self.longestDelay)
    let own = step / 2 + step / 2 * fraction
    return .later(min(max(own, asked ?? .zero), Self.longestDelay * 2), why: why)
  }

  /// `partialSuccess`. The number is one of 64 bits, and so a string; some write a number.
  private static func refused(_ body: [UInt8]) -> (count: Int, why: String?) {
    guard
      let partial = (try? JSONValue.parse(body))?.object?["partialSuccess"]?.object,
      let count = partial["rejectedSpans"],
      let number = count.integer.map(Int.init)
        ?? count.string.flatMap(Int.init)
    else { return (0, nil) }
    return (
      number, partial["errorMessage"]?.string.map { String($0.prefix(Self.maximumWordBytes)) }
    )
  }
}
