import HTTP2
import Model
import Transport

/// A platform as one account of ours sees it: what Deliver asks of it. Three questions: how a
/// request looks on the wire, what an answer means, and how we prove who we are. The two others are
/// asked elsewhere: how a token is written and stored (Model's `Platform`), and what a payload may
/// be (Render).
///
/// Shared by the lanes of a worker.
package protocol PlatformAccount: Sendable {
  /// The `Platform.name` of its destinations.
  var platform: String { get }
  /// How many pushes all workers may send with it; nil: as many as the platform takes, or nobody
  /// knows yet. It is known once there is a credential, and does not change then.
  var quota: PushQuota? { get }

  // MARK: requests

  /// Makes what writes the requests of one connection.
  /// - Parameters:
  ///   - authority: host and port, as `:authority` names them.
  ///   - slots: requests that are in flight at most, each in a slot of its own.
  func makeRequestWriter(
    authority: String, slots: Int
  ) throws(HTTP2Error) -> any RequestWriter

  /// Encodes what the pushes of a fan-out share, once for all connections.
  /// - Parameter credential: that they are sent with.
  func encode(_ headers: PushHeaders, _ credential: any Credential) -> SharedHeaders

  // MARK: answers

  /// Bytes of an answer's body that `meaning` reads at most; the rest is not kept.
  var keptBodyBytes: Int { get }
  /// The header field, in lower case, whose text is `PlatformAnswer.detail`; nil: none.
  var keptField: String? { get }
  func meaning(of answer: PlatformAnswer) -> AnswerMeaning
  /// Of whom an answer speaks that asks for another try; nil: the push is tried until it expires.
  func subject(of reason: RejectionReason) -> RetrySubject?
  /// Why the server goes away, by a GOAWAY's debug data; nil where that says nothing.
  func reason(ofGoAway debug: [UInt8]) -> String?

  // MARK: credentials

  /// The credential to send with at `now` (ms since 1970). Throws while there is none that the
  /// platform could take.
  func credential(now: Int64) throws(CredentialProblem) -> any Credential
  /// Another, after the platform has called this one expired; nil when another would not help.
  func replacement(for expired: any Credential, now: Int64) -> (any Credential)?
  /// Whether credentials bear the time of our clock: a young one is then called expired only where
  /// the clocks differ. A server makes the others, and a young one is refused for another reason.
  var datesCredentials: Bool { get }
  /// For a connection that is made now.
  func makeShownCredentials() -> any ShownCredentials
}

/// A platform with many servers, each named by the tokens of its devices. Shared by the lanes of a
/// worker.
package protocol PushServices: Sendable {
  /// The `Platform.name` of its destinations.
  var platform: String { get }
  /// The part of a token that names its server; nil for a token that names none. It is asked of
  /// each push, so it allocates nothing.
  func origin(in token: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer?
  /// Whether anything may be sent to a server.
  func allows(_ origin: String) -> Bool
  /// What a route to a server works with; nil for one that nothing may be sent to. It is asked for
  /// each route that is made.
  /// - Parameter target: what is common to all of them.
  func service(at origin: String, _ target: RouteTarget) -> PushService?
}

/// A server, and how it sees us.
package struct PushService: Sendable {
  package let target: RouteTarget
  package let account: any PlatformAccount

  package init(target: RouteTarget, account: any PlatformAccount) {
    self.target = target
    self.account = account
  }
}

extension PlatformAccount {
  package var keptField: String? { nil }
  package var quota: PushQuota? { nil }
  package var datesCredentials: Bool { true }
}

/// A limit of pushes that accounts share which name the same project.
package struct PushQuota: Sendable, Equatable {
  /// Becomes a part of a key in Redis.
  package let project: String
  /// Pushes a second, `PushRates.maximum` at most.
  package let rate: Int

  package init(project: String, rate: Int) {
    self.project = project
    self.rate = rate
  }
}

/// Proves who we are: a token in each request, or a certificate. Two are the same when they are one
/// object.
package protocol Credential: AnyObject, Sendable {}

/// Why there is no credential.
package struct CredentialProblem: Error, Sendable {
  package let kind: RouteObstacle.Kind
  /// For an operator.
  package let reason: String
  /// Whether it is worth asking again at once; if not, it is asked when `credentialHold` is over.
  package let mayEndAtOnce: Bool

  package init(_ kind: RouteObstacle.Kind, _ reason: String, mayEndAtOnce: Bool = false) {
    self.kind = kind
    self.reason = reason
    self.mayEndAtOnce = mayEndAtOnce
  }
}

/// The credentials that the server of one connection has seen. Times are monotonic nanoseconds.
package protocol ShownCredentials {
  /// For a TLS handshake that offers these protocols (ALPN); nil: the route's own.
  func security(over protocols: [String]) -> ClientSecurity?
  /// A push has gone with it.
  mutating func show(_ credential: any Credential, at now: UInt64)
  /// Whether pushes may go on this connection with this one.
  func mayShow(_ credential: any Credential, at now: UInt64) -> Bool
}

/// The headers that pushes of a fan-out share, encoded by their platform. Keeps the bytes that
/// nghttp2 refers to.
package final class SharedHeaders {
  package let headers: PushHeaders
  package let credential: any Credential
  /// The platform's own.
  package let fields: AnyObject

  package init(_ headers: PushHeaders, _ credential: any Credential, fields: AnyObject) {
    self.headers = headers
    self.credential = credential
    self.fields = fields
  }
}

/// Writes the requests of one connection. Confined to it.
package protocol RequestWriter: AnyObject {
  /// The header fields of requests that share these. Nil when a value holds what a header must not.
  func fields(sharing shared: SharedHeaders) -> HTTP2FieldBlock?
  /// Fills in the fields of one push, and returns its body. What they borrow stays as it is until
  /// the slot is written again. Nil as above.
  func fill(
    _ fields: HTTP2FieldBlock, for push: PushBatch.Entry, in bytes: ByteArena, slot: Int
  ) -> UnsafeRawBufferPointer?
}

/// An answer other than 200, which is "accepted" on every platform.
package struct PlatformAnswer: Sendable {
  package let status: Int
  package let body: [UInt8]
  /// It was read to its end.
  package let isWhole: Bool
  /// The text of a header field that the platform asked to keep.
  package let detail: String?

  package init(status: Int, body: [UInt8], isWhole: Bool, detail: String? = nil) {
    self.status = status
    self.body = body
    self.isWhole = isWhole
    self.detail = detail
  }
}

/// The meaning of an answer.
package struct AnswerMeaning: Sendable {
  package let disposition: Disposition
  /// Counted in the metrics.
  package let refusal: AnswerCounts.Refusal
  /// The answer, where the platform does not document it.
  package let unknown: UnknownAnswer?
  /// Since when the token is gone, in ms since 1970, where the platform says so.
  package let goneSince: Int64?
  /// Before a retry the push waits so long at least, where the answer has no `Retry-After`; nil:
  /// the back-off decides.
  package let minimumWait: Duration?
  /// Of a refusal of our credentials: where they are taken for other devices, it is about the
  /// device, which is set aside.
  package let mayBeOfDevice: Bool

  package init(
    _ disposition: Disposition, counted refusal: AnswerCounts.Refusal,
    unknown: UnknownAnswer? = nil, goneSince: Int64? = nil, minimumWait: Duration? = nil,
    mayBeOfDevice: Bool = false
  ) {
    self.disposition = disposition
    self.refusal = refusal
    self.unknown = unknown
    self.goneSince = goneSince
    self.minimumWait = minimumWait
    self.mayBeOfDevice = mayBeOfDevice
  }
}

/// Of whom an answer speaks that asks for another try. After `mostTries` of them the push is
/// rejected for its reason; one counts the less the more others get the same answer.
package enum RetrySubject: Sendable {
  /// Of the device, unless many devices get it. It counts even while no other answers are known.
  case device
  /// Of the server: it counts when others are taken, and slows down what it is sent.
  case server

  /// Ten tries are a minute with the default back-off; an event's news is not worth more.
  package static let mostTries = 10
}

/// The reaction to an answer, as its platform's table has it. A retry comes after a short jittered
/// back-off inside the event's time: news lives for minutes.
package enum Disposition: Sendable, Equatable {
  case accepted
  /// Final; the token is fine.
  case reject(RejectionReason)
  /// Final, and our own configuration or code is at fault: alert the operator.
  case rejectAndAlert(RejectionReason)
  /// Final; the token is gone since the platform's timestamp: prune it unless its binding is
  /// younger.
  case prune(RejectionReason)
  /// Final; the token is not one, or not for this app or environment: set it aside.
  case setAside(RejectionReason)
  /// Send again after a back-off.
  case retry(RejectionReason)
  /// Send again on another connection; this one takes no more.
  case retryElsewhere(RejectionReason)
  /// The credential is too old: renew it and send again on a new connection.
  case renew(RejectionReason)
  /// Our credentials are refused: other pushes of the topic ask what that means. It waits, is never
  /// rejected, and the operator is told.
  case hold(RejectionReason)

  /// Why the push is not accepted; nil where it is.
  package var reason: RejectionReason? {
    switch self {
    case .accepted: nil
    case .reject(let reason), .rejectAndAlert(let reason), .prune(let reason),
      .setAside(let reason), .retry(let reason), .retryElsewhere(let reason), .renew(let reason),
      .hold(let reason):
      reason
    }
  }
}
