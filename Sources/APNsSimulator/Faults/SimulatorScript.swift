import JSON
import SimulatorSupport

/// How the simulator misbehaves. The same document is the script file and the body of
/// `POST /simulator/script`, which replaces the whole script:
///
///     {"rules": [{"tokens": ["ab12…"], "answers": [{"status": 503, "times": 1}, {"status": 200}]},
///                {"prefix": "0a", "topic": "com.example.other"},
///                {"prefix": "0b", "answers": [{"status": 410, "timestamp": 1700000000000}]}],
///      "mix": {"410": 0.01, "Shutdown": 0.05, "silence": 0.001, "reset": 0.001},
///      "latency_ms": 40, "jitter_ms": 15, "streams": 500, "rate": 2000,
///      "goaway_after": 1000, "goaway_behind": 10, "goaway_code": 11, "drop_after": 5000,
///      "silent_after": 800, "cut_after": 40, "end_after": 1000, "half_close_after": 700,
///      "attack": "ping", "attack_after": 600, "window": 0, "slice_bytes": 1}
///
/// All members are optional; a bare list is the rules alone. An answer is `{"status", "reason",
/// "timestamp", "retry_after", "body"}`, `{"reset": <code>}`, `{"silence": true}` or `{"drop":
/// true}`, with `times` to give it for so many tries; what follows the last answer is an
/// acceptance.
package struct SimulatorScript: Sendable, Equatable {
  package typealias Step = ScriptStep<SimulatedAnswer>
  package typealias Share = ScriptShare<SimulatedAnswer>

  package struct Rule: Sendable, Equatable {
    /// Tokens or, when empty, every token with `prefix`; lower-case hex.
    package var tokens: [String]
    package var prefix: String
    /// The only topic that these tokens belong to, a push type's suffix with it; with another the
    /// answer is DeviceTokenNotForTopic.
    package var topic: String?
    package var steps: [Step]

    package init(
      tokens: [String] = [], prefix: String = "", topic: String? = nil, steps: [Step] = []
    ) {
      self.tokens = tokens
      self.prefix = prefix
      self.topic = topic
      self.steps = steps
    }
  }

  package var rules: [Rule] = []
  package var mix: [Share] = []
  package var latency: Duration = .zero
  /// Each answer waits `latency` ± an even share of this.
  package var jitter: Duration = .zero
  /// MAX_CONCURRENT_STREAMS of connections with a valid provider token, over the one in the
  /// options.
  package var streams: Int?
  /// Requests that are accepted each second, of all connections together, in bursts of a tenth of
  /// that; the others are answered 503 ServiceUnavailable.
  package var rate: Int?
  /// Each connection gets a GOAWAY after so many requests.
  package var goAwayAfter: Int?
  /// So many of the requests before that GOAWAY are above its last stream: neither counted nor
  /// answered.
  package var goAwayBehind = 0
  /// The error code of GOAWAYs that a connection gets for its requests or its errors.
  package var goAwayCode: UInt32 = 0
  /// Each connection closes at its request of this number, with all that is open on it.
  package var dropAfter: Int?
  /// Each connection answers nothing from its request of this number on.
  package var silentAfter: Int?
  /// A connection's limit of streams is halved after each so many errors (`CountedErrors`).
  package var cutAfter: Int?
  /// A connection gets a GOAWAY after so many errors.
  package var endAfter: Int?
  /// Each connection closes its sending side at its request of this number, and reads on.
  package var halfCloseAfter: Int?
  /// The attack on each connection at its request of the number `attackAfter`. Neither that request
  /// nor a later one gets any other answer.
  package var attack: Attack?
  package var attackAfter = 1
  /// Body bytes that each stream may send ahead; nil: as HTTP/2 has it.
  package var window: Int?
  /// The size of the pieces that are sent, in bytes; each is a TLS record of its own.
  package var sliceBytes: Int?

  package init() {}

  /// An error mix as flags have it: `410=0.01,Shutdown=0.05,silence=0.001`.
  package static func mix(_ text: String) throws(SimulatorError) -> [Share] {
    var shares: [Share] = []
    for part in text.split(separator: ",") {
      let sides = part.split(separator: "=", omittingEmptySubsequences: false)
      guard sides.count == 2, let probability = Double(sides[1]) else {
        throw SimulatorError(.badScript, "\(part) is no share: write for example 410=0.01")
      }
      shares.append(try share(String(sides[0]), probability))
    }
    try shares.check()
    return shares
  }

  static func share(_ name: String, _ probability: Double) throws(SimulatorError) -> Share {
    guard probability >= 0, probability <= 1 else {
      throw SimulatorError(.badScript, "mix: the share of \(name) must lie between 0 and 1")
    }
    let answer: SimulatedAnswer
    switch name {
    case "silence": answer = .silence
    case "reset": answer = .reset(7)
    case "drop": answer = .drop
    default:
      let reason = Int(name).flatMap(AppleReason.usual) ?? AppleReason(rawValue: name)
      guard let reason else {
        throw SimulatorError(
          .badScript, "mix: \(name) is no status, reason, silence, reset or drop")
      }
      answer = .refuse(reason)
    }
    return Share(answer, probability: probability)
  }
}
