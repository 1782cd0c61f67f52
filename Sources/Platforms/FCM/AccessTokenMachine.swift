import Deliver
import EventLoop
import HTTP2
import Text

/// An access token, as the `authorization` field carries it. Its bytes stay where they are, since
/// nghttp2 borrows them.
package final class AccessToken: Credential {
  package let authorization: StableBytes

  init(_ text: String) { authorization = StableBytes("Bearer " + text) }

  func isMade(of text: String) -> Bool {
    authorization.bytes.elementsEqual(("Bearer " + text).utf8)
  }
}

/// The access token in use, and when another is asked for. A pure machine; times are monotonic
/// nanoseconds. The old token is in use until another has come, unless it was refused.
///
/// ```
/// none ─ask→ asking ─token→ fresh ─time→ fresh, asking ─token→ fresh
///              │ failed           └─refused→ asking
///              └→ none, until it is time to ask again
/// ```
struct AccessTokenMachine {
  /// So long before its end a token is replaced. Google's metadata server has another for who asks
  /// in the last five minutes.
  static let margin: Duration = .seconds(5 * 60)
  /// Workers that began together do not ask together.
  static let jitter: Duration = .seconds(60)
  /// A token of unknown lifetime is asked for again after so long.
  static let unknownInterval: Duration = .seconds(5 * 60)
  /// A token that is younger has not expired, and another would be refused as well.
  static let minimumUse: Duration = .seconds(60)
  /// The first wait after a question that failed; it doubles up to the longest.
  static let firstWait: Duration = .seconds(1)
  static let longestWait: Duration = .seconds(60)
  /// Until somebody has mended what is wrong.
  static let hold: Duration = .seconds(5 * 60)

  private(set) var current: AccessToken?
  /// Why the last question got no token.
  private(set) var problem: Problem?
  private(set) var isAsking = false
  private var gotAt: UInt64 = 0
  private var expiresAt = UInt64.max
  private var isRefused = false
  private var askAt: UInt64 = 0
  private var failures = 0

  struct Problem: Equatable {
    let words: String
    /// Asking again does not help.
    let isPermanent: Bool
  }

  /// To send with; nil while there is none that FCM could take.
  func token(at now: UInt64) -> AccessToken? {
    isRefused || now >= expiresAt ? nil : current
  }

  /// Whether the caller has to ask for a token: never two at a time.
  mutating func mayAsk(at now: UInt64) -> Bool {
    guard !isAsking, now >= askAt else { return false }
    isAsking = true
    return true
  }

  /// The question has an answer.
  /// - Parameter chance: any number.
  mutating func heard(_ grant: TokenGrant, at now: UInt64, chance: UInt64) {
    isAsking = false
    switch grant {
    case .token(let text, let lifetime):
      // The same token is read from a file many times.
      if isRefused || current?.isMade(of: text) != true {
        current = AccessToken(text)
        gotAt = now
      }
      isRefused = false
      problem = nil
      failures = 0
      expiresAt = lifetime.map { now &+ $0.nanoseconds } ?? .max
      askAt = now &+ Self.wait(lifetime, chance: chance).nanoseconds
    case .failed(let words, let retryAfter):
      problem = Problem(words: words, isPermanent: false)
      failures += 1
      let asked = min(retryAfter ?? .zero, RetryAfter.longest)
      askAt = now &+ max(Self.backOff(failures, chance: chance), asked).nanoseconds
    case .refused(let words):
      problem = Problem(words: words, isPermanent: true)
      askAt = now &+ Self.hold.nanoseconds
    }
  }

  /// How long a token is used before another is asked for: half its life at least.
  private static func wait(_ lifetime: Duration?, chance: UInt64) -> Duration {
    guard let lifetime else { return unknownInterval }
    let early = margin + jitter * Double(chance % 1024) / 1024
    return max(lifetime - early, lifetime / 2)
  }

  /// Between half and all of a wait that doubles.
  private static func backOff(_ failures: Int, chance: UInt64) -> Duration {
    let full = min(firstWait * (1 << min(failures - 1, 10)), longestWait)
    return full / 2 + full / 2 * Double(chance % 1024) / 1024
  }

  /// The question has no answer that counts.
  mutating func dropped(at now: UInt64) {
    isAsking = false
    askAt = now
  }

  /// FCM has refused a token.
  /// - Returns: whether another can help: one is there, or on its way.
  mutating func refused(_ token: AccessToken, at now: UInt64) -> Bool {
    guard token === current else { return true }
    if !isRefused {
      guard now &- gotAt >= Self.minimumUse.nanoseconds else { return false }
      isRefused = true
      // A server that has no answer is not asked more often for that.
      if problem == nil { askAt = now }
    }
    return problem?.isPermanent != true
  }

  /// From now on tokens come from elsewhere. The old one stays in use until then.
  mutating func forgetProblem(at now: UInt64) {
    problem = nil
    failures = 0
    askAt = now
  }
}
