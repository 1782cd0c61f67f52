import Deliver
import HTTP2
import Threads

/// The VAPID tokens for one origin, one of each key pair, shared by all lanes of a worker. "Reuse
/// the token" (RFC 8292, section 5): services remember those that they have verified.
package final class VAPIDTokenSource: Sendable {
  /// Milliseconds. A token may be valid for a day at most (RFC 8292, section 2): half of that
  /// leaves room for clocks that differ.
  static let lifetime: Int64 = 12 * 3_600_000
  /// Milliseconds: the age at which a token is signed again.
  static let renewalAge: Int64 = lifetime / 2
  /// Milliseconds. Apple refuses senders that sign more often than once in an hour, so a clock that
  /// is set to and fro makes no more either.
  static let minimumUse: Int64 = 3_600_000

  private struct State {
    var current: VAPIDTokens?
    /// Nanoseconds of a clock that nobody sets.
    var madeAt: UInt64 = 0
  }

  private let origin: String
  private let ring: VAPIDKeyRing
  private let monotonic: @Sendable () -> UInt64
  private let state = ThreadLock(State())

  /// - Parameters:
  ///   - origin: of the push service: scheme, host, and the port where it is not 443.
  ///   - monotonic: nanoseconds of a clock that nobody sets.
  package init(
    origin: String, _ ring: VAPIDKeyRing, monotonic: @escaping @Sendable () -> UInt64
  ) {
    self.origin = origin
    self.ring = ring
    self.monotonic = monotonic
  }

  /// The tokens to use at `now` (ms since 1970).
  package func tokens(now: Int64) throws(VAPIDProblem) -> VAPIDTokens {
    let keys = ring.current
    let time = monotonic()
    return try state.withLock { (state) throws(VAPIDProblem) -> VAPIDTokens in
      if let current = state.current, current.keys === keys {
        let used = Int64(clamping: (time &- state.madeAt) / 1_000_000)
        let age = now - current.signedAt
        let isGood = used < Self.renewalAge && abs(age) < Self.renewalAge
        if isGood || used < Self.minimumUse { return current }
      }
      let made = try VAPIDTokens(keys, origin: origin, signedAt: now)
      state.current = made
      state.madeAt = time
      return made
    }
  }
}

/// Signed tokens, as the `authorization` header carries them. Their bytes stay where they are,
/// since nghttp2 borrows them.
package final class VAPIDTokens: Credential {
  /// Ms since 1970.
  package let signedAt: Int64
  let keys: VAPIDKeyRing.Keys
  private let values: [(id: [UInt8], authorization: StableBytes)]

  init(_ keys: VAPIDKeyRing.Keys, origin: String, signedAt: Int64) throws(VAPIDProblem) {
    self.keys = keys
    self.signedAt = signedAt
    let expiresAt = (signedAt + VAPIDTokenSource.lifetime) / 1000
    var values: [(id: [UInt8], authorization: StableBytes)] = []
    for pair in keys.pairs {
      let value = try pair.authorization(
        for: origin, subject: keys.subject, expiresAt: expiresAt)
      values.append((Array(pair.id.utf8), StableBytes(value)))
    }
    self.values = values
  }

  /// The value of `authorization` for subscriptions that were made with the key pair `id`; nil when
  /// there is no such pair.
  func authorization(_ id: some Sequence<UInt8>) -> UnsafeRawBufferPointer? {
    for value in values where value.id.elementsEqual(id) { return value.authorization.bytes }
    return nil
  }
}
