import Deliver
import EventLoop
import HTTP2
import Text
import Threads

/// The provider token of one team key, shared by all lanes of a worker, and without a word by all
/// workers that have the key: they issue it at the same times (`ProviderTokenTimes`) and sign it in
/// the same way. Apple: "reuse the same token for all of your connections".
package final class ProviderTokenSource: Sendable {
  /// Lanes read the clock before they ask, and NTP moves it: a time a little before a token's birth
  /// is not worth another token. A clock that is set to and fro makes no more than one in so long.
  private static let clockTolerance: Duration = .seconds(60)

  private struct State {
    var current: ProviderToken?
    /// Nanoseconds of a clock that nobody sets.
    var madeAt: UInt64 = 0
    /// How old the token was then.
    var ageWhenMade: Int64 = 0
    var key: ProviderKey
  }

  private let times: ProviderTokenTimes
  private let monotonic: @Sendable () -> UInt64
  private let state: ThreadLock<State>

  /// - Parameters:
  ///   - lifetime: the age at which a token is renewed; kept between 40 and 60 minutes.
  ///   - monotonic: nanoseconds of a clock that nobody sets.
  package init(
    key: ProviderKey, lifetime: Duration, monotonic: @escaping @Sendable () -> UInt64
  ) {
    times = ProviderTokenTimes(lifetime: lifetime)
    self.monotonic = monotonic
    state = ThreadLock(State(key: key))
  }

  /// From now on, by all lanes. Connections that have shown a token of another key end.
  package func use(_ key: ProviderKey) {
    state.withLock { state in
      state.key = key
      state.current = nil
    }
  }

  package var keyID: String { state.withLock { $0.key.keyID } }

  /// The token to use at `now` (ms since 1970): another when there is none or it has come of age,
  /// by either clock, or when the wall clock was set back well before its birth: Apple refuses a
  /// token from the future.
  package func token(now: Int64) throws(SigningError) -> ProviderToken {
    try renewed(now: now, olderThan: times.lifetime, issuedAt: times.issueTime(at: now))
  }

  /// After ExpiredProviderToken: one that is issued now, unless the one that was refused has been
  /// replaced already or is younger than 20 minutes (then a clock is wrong, and another token would
  /// not help).
  func replacement(
    for refused: ProviderToken, now: Int64
  ) throws(SigningError) -> ProviderToken {
    try renewed(now: now, olderThan: ProviderTokenTimes.minimumUse, issuedAt: now)
  }

  private func renewed(
    now: Int64, olderThan age: Int64, issuedAt: Int64
  ) throws(SigningError) -> ProviderToken {
    try state.withLock { (state) throws(SigningError) -> ProviderToken in
      let time = monotonic()
      if let current = state.current,
        Self.isGood(current, now, age, time &- state.madeAt, state.ageWhenMade)
      {
        return current
      }
      let token = try Self.make(state.key, issuedAt: issuedAt)
      state.current = token
      state.madeAt = time
      state.ageWhenMade = now - issuedAt
      return token
    }
  }

  /// - Parameters:
  ///   - elapsed: nanoseconds since the token was made.
  ///   - ageWhenMade: how old it was then.
  private static func isGood(
    _ token: ProviderToken, _ now: Int64, _ age: Int64, _ elapsed: UInt64, _ ageWhenMade: Int64
  ) -> Bool {
    let aged = now - token.issuedAt
    guard aged >= -clockTolerance.wholeMilliseconds else {
      return elapsed < clockTolerance.nanoseconds
    }
    let left = Duration.milliseconds(max(0, age - ageWhenMade))
    return aged < age && elapsed < left.nanoseconds
  }

  private static func make(
    _ key: ProviderKey, issuedAt: Int64
  ) throws(SigningError) -> ProviderToken {
    let header = #"{"alg":"ES256","kid":"\#(key.keyID)"}"#
    let claims = #"{"iss":"\#(key.teamID)","iat":\#(issuedAt / 1000)}"#
    let message = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    let signature: [UInt8]
    do {
      signature = try key.sign(Array(message.utf8))
    } catch {
      throw SigningError(
        "the provider token cannot be signed: check apns.key_file", cause: "\(error)")
    }
    return ProviderToken(
      authorization: "bearer " + message + "." + Base64URL.encode(signature), issuedAt: issuedAt,
      key: key)
  }
}

/// A signed token, as the `authorization` header carries it. Its bytes stay where they are, since
/// nghttp2 borrows them.
package final class ProviderToken: Credential {
  /// Ms since 1970.
  package let issuedAt: Int64
  package let authorization: StableBytes
  let key: ProviderKey

  init(authorization: String, issuedAt: Int64, key: ProviderKey) {
    self.authorization = StableBytes(authorization)
    self.issuedAt = issuedAt
    self.key = key
  }
}

/// When the provider tokens of a key are issued: at the same moments by all who have it, so that
/// they make the very same ones. "Refresh your token no more than once every 20 minutes and no less
/// than once every 60 minutes" (Apple, "Establishing a token-based connection to APNs").
///
/// With a lifetime of 50 minutes tokens are issued at every half hour. A process that needs one
/// takes the last and keeps it until it is 50 minutes old: at least 20 minutes, and then 30 at a
/// time. Since at least 20 minutes lie between the times of issue, no more than two are in use at
/// once.
struct ProviderTokenTimes {
  /// Milliseconds. Not renewed sooner than this, whatever Apple says of it.
  static let minimumUse: Int64 = 20 * 60_000

  /// Milliseconds: the age at which a token is renewed.
  let lifetime: Int64

  /// - Parameter lifetime: kept between 40 and 60 minutes.
  init(lifetime: Duration) {
    let milliseconds = lifetime.components.seconds * 1000
    self.lifetime = min(max(milliseconds, 2 * Self.minimumUse), 3 * Self.minimumUse)
  }

  /// Milliseconds between one time of issue and the next.
  var interval: Int64 { lifetime - Self.minimumUse }

  /// The last time of issue at `now` (both ms since 1970).
  func issueTime(at now: Int64) -> Int64 {
    let since = now % interval
    return now - (since < 0 ? since + interval : since)
  }
}

/// A key of the Apple developer account, as it signs provider tokens. Two objects are two keys,
/// whatever their ids say.
package final class ProviderKey: Sendable {
  package let keyID: String
  package let teamID: String
  let sign: @Sendable ([UInt8]) throws -> [UInt8]

  /// - Parameter sign: ES256 over the bytes, 64 bytes of r and s; always the same for the same
  ///   bytes.
  package init(
    keyID: String, teamID: String, sign: @escaping @Sendable ([UInt8]) throws -> [UInt8]
  ) {
    self.keyID = keyID
    self.teamID = teamID
    self.sign = sign
  }
}
