import Deliver
import HTTP2
import Model
import Subscriptions
import Transport

/// One push service as an application's VAPID keys see it. Push services have nothing in common but
/// RFC 8030, so each origin is an account, a route, and a set of connections of its own. Shared by
/// the lanes of a worker.
package final class WebPushCredentials: PlatformAccount {
  /// Milliseconds. A service may call a subscription unknown in the first seconds of its life:
  /// Google's has. One that is as young as this is not pruned.
  static let youth: Int64 = 5 * 60_000

  private let tokens: VAPIDTokenSource
  let dialect: PushServiceDialect
  private let encryption: MessageEncryption
  private let wallClock: @Sendable () -> Int64

  /// - Parameters:
  ///   - endpoint: any of the push service's.
  ///   - encryption: of all services.
  ///   - wallClock: ms since 1970.
  ///   - monotonic: nanoseconds of a clock that nobody sets.
  package init(
    for endpoint: PushEndpoint, _ keys: VAPIDKeyRing, _ encryption: MessageEncryption,
    wallClock: @escaping @Sendable () -> Int64, monotonic: @escaping @Sendable () -> UInt64
  ) {
    tokens = VAPIDTokenSource(origin: endpoint.origin, keys, monotonic: monotonic)
    dialect = PushServiceDialect(host: endpoint.host)
    self.encryption = encryption
    self.wallClock = wallClock
  }

  package var platform: String { Platform.webpush.name }

  // MARK: requests

  package func makeRequestWriter(
    authority: String, slots: Int
  ) throws(HTTP2Error) -> any RequestWriter {
    try WebPushRequestWriter(
      authority: authority, slots: slots, dialect, encryption, wallClock: wallClock)
  }

  package func encode(_ headers: PushHeaders, _ credential: any Credential) -> SharedHeaders {
    SharedHeaders(
      headers, credential,
      fields: WebPushHeaders(headers, unsafeDowncast(credential, to: VAPIDTokens.self)))
  }

  // MARK: answers

  package var keptBodyBytes: Int { PushServiceAnswers.maximumBytes }
  package var keptField: String? { PushServiceAnswers.windowsField }

  package func meaning(of answer: PlatformAnswer) -> AnswerMeaning {
    let word = dialect.word(in: answer)
    let disposition = PushServiceAnswers.disposition(
      status: answer.status, word: word, dialect, isWhole: answer.isWhole)
    return AnswerMeaning(
      disposition,
      counted: AnswerCounts.Refusal(status: answer.status, reason: disposition.reason),
      unknown: PushServiceAnswers.unknown(answer.status, word, dialect, disposition),
      // Services do not say since when. A binding that is younger stays, and the next push tells.
      goneSince: wallClock() - Self.youth,
      // A subscription that was made with another key pair than ours.
      mayBeOfDevice: true)
  }

  package func subject(of reason: RejectionReason) -> RetrySubject? {
    PushServiceAnswers.subject(of: reason)
  }

  package func reason(ofGoAway debug: [UInt8]) -> String? { nil }

  // MARK: credentials

  package func credential(now: Int64) throws(CredentialProblem) -> any Credential {
    do {
      return try tokens.tokens(now: now)
    } catch {
      throw CredentialProblem(.noToken, "\(error)")
    }
  }

  /// No answer says that a token is too old, and none gets old here.
  package func replacement(for expired: any Credential, now: Int64) -> (any Credential)? { nil }

  package func makeShownCredentials() -> any ShownCredentials { RequestCredentials() }
}

/// Each request brings its own token, and any may follow another on a connection.
private struct RequestCredentials: ShownCredentials {
  func security(over protocols: [String]) -> ClientSecurity? { nil }
  mutating func show(_ credential: any Credential, at now: UInt64) {}
  func mayShow(_ credential: any Credential, at now: UInt64) -> Bool { true }
}
