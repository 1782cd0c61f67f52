import JSON
import SimulatorSupport

/// How the simulator misbehaves, as a document:
///
///     {"rules": [{"tokens": ["abc"], "answers": [{"fault": "unavailable", "times": 1}]},
///                {"prefix": "dead", "answers": [{"fault": "unregistered"}]},
///                {"prefix": "x", "answers": [{"status": 418, "body": "?", "retry_after": 9}]}],
///      "mix": {"unregistered": 0.01, "silence": 0.001}, "latency_ms": 120, "jitter_ms": 30,
///      "streams": 100, "quota_per_minute": 600000, "access_token_seconds": 60,
///      "expired_access_tokens": [1], "token_answers": [{"fault": "invalid_grant", "times": 2}],
///      "goaway_after": 1000, "goaway_behind": 10, "drop_after": 5000, "silent_after": 800}
///
/// All members are optional. Names of faults are those of `FCMFault`, those of `token_answers` are
/// those of `OAuthFault`. An answer is given `times` times or, without, for ever; behind the last
/// one requests are accepted.
package struct FCMSimulatorScript: Sendable, Equatable {
  package typealias Step<Answer: Sendable & Equatable> = ScriptStep<Answer>
  package typealias Share = ScriptShare<FCMFault>

  package typealias Rule = ScriptRule<FCMAnswer>

  package var rules: [Rule] = []
  package var mix: [Share] = []
  package var latency: Duration = .zero
  /// Each answer waits `latency` ± an even share of this.
  package var jitter: Duration = .zero
  /// MAX_CONCURRENT_STREAMS, over the one in the options.
  package var streams: Int?
  /// Messages that the project may send in a minute; the rest is refused with 429.
  package var quotaPerMinute: Int?
  /// Lifetime of access tokens that are issued from now on, over the one in the options.
  package var accessTokenSeconds: Int?
  /// Access tokens that count as expired, by the order in which they were issued, from 1 on.
  package var expiredAccessTokens: Set<Int> = []
  /// Answers to requests for access tokens, counted since the script came.
  package var tokenAnswers: [Step<OAuthFault>] = []
  /// Each connection gets a GOAWAY with NO_ERROR after so many messages.
  package var goAwayAfter: Int?
  /// So many of the messages before that GOAWAY are above its last stream: neither counted nor
  /// answered.
  package var goAwayBehind = 0
  /// Each connection closes at its message of this number, with all that is open on it.
  package var dropAfter: Int?
  /// Each connection answers nothing from its message of this number on.
  package var silentAfter: Int?

  package init() {}

  var faults: ConnectionFaults {
    var faults = ConnectionFaults()
    faults.goAwayAfter = goAwayAfter
    faults.goAwayBehind = goAwayBehind
    faults.dropAfter = dropAfter
    faults.silentAfter = silentAfter
    return faults
  }

  /// Enough for 50,000 tokens.
  package static let maximumBytes = 8 << 20

  /// Reads a script document. Every error names the member it is about.
  package static func parse(_ bytes: [UInt8]) throws(SimulatorError) -> FCMSimulatorScript {
    let value: JSONValue
    do {
      value = try JSONValue.parse(bytes, maximumBytes: maximumBytes)
    } catch {
      throw SimulatorError(.badScript, "the script is not JSON", cause: "\(error)")
    }
    return try ScriptReader.script(value)
  }
}

/// The faults of the token endpoint.
package enum OAuthFault: String, CaseIterable, Sendable {
  case invalidGrant = "invalid_grant"
  case invalidScope = "invalid_scope"
  case invalidClient = "invalid_client"
  /// 500 and 503, which are worth another try.
  case internalFailure = "internal_failure"
  case unavailable
  /// 200 with a page of HTML, and 200 with 64 KiB of spaces before the JSON.
  case notJSON = "not_json"
  case long
  case silence
}
