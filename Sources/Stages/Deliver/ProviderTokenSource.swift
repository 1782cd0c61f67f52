import EventLoop
import Text
import Threads

/// The provider token of one team key, shared by all lanes of a worker: Apple answers 429 when a
/// connection sees more than one new token within 20 minutes, and 403 when one is older than an
/// hour ("Establishing a token-based connection to APNs").
package final class ProviderTokenSource: Sendable {
  /// Not renewed sooner than this, whatever Apple says of it.
  package static let minimumLifetime: Duration = .seconds(20 * 60)
  package static let maximumLifetime: Duration = .seconds(60 * 60)

  /// Lanes read the clock before they ask, and NTP moves it: a time a little before a token's birth
  /// is not worth another token.
  private static let clockTolerance: Int64 = 5 * 60_000
  /// A clock that is set to and fro makes no more than one token in this time.
  private static let stepInterval: Duration = .seconds(60)

  private struct State {
    var current: ProviderToken?
    /// Nanoseconds of a clock that nobody sets.
    var madeAt: UInt64 = 0
  }

  private let keyID: String
  private let teamID: String
  private let lifetimeMilliseconds: Int64
  private let sign: @Sendable ([UInt8]) throws -> [UInt8]
  private let monotonic: @Sendable () -> UInt64
  private let state = ThreadLock(State())

  /// - Parameters:
  ///   - lifetime: the age at which a token is renewed; kept between 20 and 60 minutes.
  ///   - monotonic: nanoseconds of a clock that nobody sets.
  ///   - sign: ES256 over the bytes, 64 bytes of r and s.
  package init(
    keyID: String, teamID: String, lifetime: Duration,
    monotonic: @escaping @Sendable () -> UInt64 = { EventLoop.monotonicNanoseconds() },
    sign: @escaping @Sendable ([UInt8]) throws -> [UInt8]
  ) {
    self.keyID = keyID
    self.teamID = teamID
    let bounded = min(max(lifetime, Self.minimumLifetime), Self.maximumLifetime)
    lifetimeMilliseconds = bounded.components.seconds * 1000
    self.monotonic = monotonic
    self.sign = sign
  }

  /// The token to use at `now` (ms since 1970): a new one when there is none or it has come of age,
  /// by either clock, or when the wall clock was set back well before its birth: Apple refuses a
  /// token from the future.
  package func token(now: Int64) throws(DeliverError) -> ProviderToken {
    try renewed(now: now, olderThan: lifetimeMilliseconds)
  }

  /// After ExpiredProviderToken: a new token, unless the one that was refused has been replaced
  /// already or is younger than 20 minutes (then a clock is wrong, and another token would not
  /// help).
  package func replacement(
    for refused: ProviderToken, now: Int64
  ) throws(DeliverError) -> ProviderToken {
    try renewed(now: now, olderThan: Self.minimumLifetime.components.seconds * 1000)
  }

  private func renewed(now: Int64, olderThan age: Int64) throws(DeliverError) -> ProviderToken {
    let result: Result<ProviderToken, DeliverError> = state.withLock { state in
      let time = monotonic()
      if let current = state.current, Self.isGood(current, now, age, time &- state.madeAt) {
        return .success(current)
      }
      do {
        let token = try make(now: now)
        state.current = token
        state.madeAt = time
        return .success(token)
      } catch let error as DeliverError {
        return .failure(error)
      } catch {
        return .failure(DeliverError(.signing, "\(error)"))
      }
    }
    return try result.get()
  }

  /// - Parameter elapsed: nanoseconds since the token was made.
  private static func isGood(
    _ token: ProviderToken, _ now: Int64, _ age: Int64, _ elapsed: UInt64
  ) -> Bool {
    let aged = now - token.issuedAt
    guard aged >= -clockTolerance else { return elapsed < stepInterval.nanoseconds }
    return aged < age && elapsed < Duration.milliseconds(age).nanoseconds
  }

  private func make(now: Int64) throws -> ProviderToken {
    let header = #"{"alg":"ES256","kid":"\#(keyID)"}"#
    let claims = #"{"iss":"\#(teamID)","iat":\#(now / 1000)}"#
    let message = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    let signature: [UInt8]
    do {
      signature = try sign(Array(message.utf8))
    } catch {
      throw DeliverError(
        .signing, "the provider token cannot be signed: check apns.key_file", cause: "\(error)")
    }
    return ProviderToken(
      authorization: "bearer " + message + "." + Base64URL.encode(signature), issuedAt: now)
  }
}

/// A signed token, as the `authorization` header carries it. Its bytes stay where they are, since
/// nghttp2 borrows them.
package final class ProviderToken: Sendable {
  /// Ms since 1970.
  package let issuedAt: Int64
  package let authorization: StableBytes

  init(authorization: String, issuedAt: Int64) {
    self.authorization = StableBytes(authorization)
    self.issuedAt = issuedAt
  }
}

/// Immutable bytes at a fixed address for as long as the object lives.
package final class StableBytes: Sendable {
  private let address: UInt
  private let count: Int

  package init(_ text: String) {
    let bytes = Array(text.utf8)
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(bytes.count, 1), alignment: 1)
    memory.copyBytes(from: bytes)
    address = UInt(bitPattern: memory.baseAddress)
    count = bytes.count
  }

  deinit { UnsafeMutableRawPointer(bitPattern: address)?.deallocate() }

  package var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: count)
  }
}
