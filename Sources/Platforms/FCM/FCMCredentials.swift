import Deliver
import HTTP2
import Model
import Text
import Transport

/// A project of Firebase, and the access tokens that its pushes are sent with.
package struct FCMCredentials: Sendable {
  /// FCM does not say since when a token is gone, only that it is. A device that was bound at most
  /// so long before the answer stays, since its app may have registered again while the push was
  /// under way: longer than any answer is waited for, and than clocks differ. If its token is gone
  /// all the same, the next event's answer says so again.
  package static let goneBefore: Duration = .seconds(10 * 60)

  private let project: FCMProject
  private let tokens: AccessTokenSource
  private let wallClock: @Sendable () -> Int64
  private let messagesPerMinute: Int

  /// - Parameters:
  ///   - project: named before `tokens` gives out the first.
  ///   - messagesPerMinute: that all workers may send together; 0: any number.
  ///   - wallClock: ms since 1970.
  package init(
    project: FCMProject, messagesPerMinute: Int = 0, tokens: AccessTokenSource,
    wallClock: @escaping @Sendable () -> Int64
  ) {
    self.project = project
    self.tokens = tokens
    self.messagesPerMinute = messagesPerMinute
    self.wallClock = wallClock
  }
}

extension FCMCredentials: PlatformAccount {
  package var platform: String { Platform.fcm.name }

  package var quota: PushQuota? {
    guard messagesPerMinute > 0, let id = project.id else { return nil }
    return PushQuota(project: id, rate: min(max(1, messagesPerMinute / 60), PushRates.maximum))
  }

  // MARK: requests

  package func makeRequestWriter(
    authority: String, slots: Int
  ) throws(HTTP2Error) -> any RequestWriter {
    try FCMRequestWriter(
      authority: authority, project: project, slots: slots, wallClock: wallClock)
  }

  package func encode(_ headers: PushHeaders, _ credential: any Credential) -> SharedHeaders {
    SharedHeaders(headers, credential, fields: credential)
  }

  // MARK: answers

  package var keptBodyBytes: Int { FCMAnswer.maximumBytes }

  package func meaning(of answer: PlatformAnswer) -> AnswerMeaning {
    let said = FCMAnswer(body: answer.body)
    let disposition = FCMAnswers.disposition(
      status: answer.status, said, isWhole: answer.isWhole)
    var goneSince: Int64?
    if case .prune = disposition { goneSince = wallClock() - Self.goneBefore.wholeMilliseconds }
    return AnswerMeaning(
      disposition,
      counted: AnswerCounts.Refusal(
        status: answer.status, reason: said.isFCMs ? disposition.reason : nil),
      unknown: FCMAnswers.unknown(answer.status, said, disposition), goneSince: goneSince,
      minimumWait: FCMAnswers.minimumWait(disposition, status: answer.status))
  }

  package func subject(of reason: RejectionReason) -> RetrySubject? {
    FCMAnswers.subject(of: reason)
  }

  /// Such as "exceeded_max_concurrent_streams".
  package func reason(ofGoAway debug: [UInt8]) -> String? {
    guard (1...64).contains(debug.count), debug.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      return nil
    }
    return String(decoding: debug, as: UTF8.self)
  }

  // MARK: credentials

  package func credential(now: Int64) throws(CredentialProblem) -> any Credential {
    try tokens.token(now: now)
  }

  package func replacement(for expired: any Credential, now: Int64) -> (any Credential)? {
    guard let token = expired as? AccessToken, tokens.replace(token, now: now) else { return nil }
    return ComingToken.coming
  }

  /// The token server dates its tokens.
  package var datesCredentials: Bool { false }

  package func makeShownCredentials() -> any ShownCredentials { AnyToken() }
}

/// Stands for the token that comes in place of one that FCM refused: `credential` gives it out when
/// it is there, and until then nothing is sent.
private final class ComingToken: Credential {
  static let coming = ComingToken()
}

/// FCM takes whatever good tokens on one connection.
private struct AnyToken: ShownCredentials {
  func security(over protocols: [String]) -> ClientSecurity? { nil }
  mutating func show(_ credential: any Credential, at now: UInt64) {}
  func mayShow(_ credential: any Credential, at now: UInt64) -> Bool { credential is AccessToken }
}
