import Deliver
import HTTP2
import JSON
import Model
import Threads
import Transport

/// How the lanes of a worker prove to Apple who they are: by tokens in each request, or by a
/// certificate when a connection is made ("Establishing a connection to APNs").
package enum APNsCredentials: Sendable {
  case key(ProviderTokenSource)
  case certificate(ClientIdentity)

  /// For a single request: the route with what the connection shows, and the value of the request's
  /// `authorization`; nil: it has none.
  /// - Parameter now: ms since 1970.
  package func proven(
    _ route: APNsRoute, now: Int64
  ) throws(SigningError) -> (route: APNsRoute, authorization: String?) {
    switch self {
    case .key(let tokens):
      let token = try tokens.token(now: now)
      return (route, String(decoding: token.authorization.bytes, as: UTF8.self))
    case .certificate(let identity):
      var route = route
      route.tls = identity.current.security(for: route.interface)
      return (route, nil)
    }
  }
}

/// An account of Apple's developer program.
extension APNsCredentials: PlatformAccount {
  package var platform: String { Platform.apns.name }

  // MARK: requests

  package func makeRequestWriter(
    authority: String, slots: Int, shown: any ShownCredentials
  ) throws(HTTP2Error) -> any RequestWriter {
    var authorizes = false
    if case .key = self { authorizes = true }
    return try APNsRequestWriter(authority: authority, slots: slots, authorizes: authorizes)
  }

  package func encode(_ headers: PushHeaders, _ credential: any Credential) -> SharedHeaders {
    SharedHeaders(
      headers, credential, fields: EncodedHeaders(headers, token: credential as? ProviderToken))
  }

  // MARK: answers

  package var keptBodyBytes: Int { Answer.maximumBytes }

  package func meaning(of answer: PlatformAnswer) -> AnswerMeaning {
    let said = Answer(body: answer.body)
    let disposition = RejectionTable.disposition(
      status: answer.status, reason: said.reason, isWhole: answer.isWhole)
    let reason = said.reason.map { RejectionReason(name: $0) }
    let isDocumented =
      reason.map { $0 != .other } == true && RejectionTable.statuses.contains(answer.status)
    return AnswerMeaning(
      disposition,
      counted: AnswerCounts.Refusal(status: answer.status, reason: reason),
      isDocumented: isDocumented,
      unknown: RejectionTable.unknown(answer.status, said.reason, disposition),
      goneSince: said.timestamp)
  }

  package func retryLimit(of reason: RejectionReason) -> RetryLimit? {
    RejectionTable.limit(of: reason)
  }

  package func reason(ofGoAway debug: [UInt8]) -> String? { Answer(body: debug).reason }

  // MARK: credentials

  package func credential(now: Int64) throws(CredentialProblem) -> any Credential {
    switch self {
    case .key(let tokens):
      do {
        return try tokens.token(now: now)
      } catch {
        throw CredentialProblem(.noToken, "\(error)")
      }
    case .certificate(let identity):
      let certificate = identity.current
      guard certificate.expiresAt > now else {
        throw CredentialProblem(.certificateExpired, certificate.words, mayEndAtOnce: true)
      }
      return certificate
    }
  }

  package func replacement(for expired: any Credential, now: Int64) -> (any Credential)? {
    guard case .key(let tokens) = self, let token = expired as? ProviderToken,
      let renewed = try? tokens.replacement(for: token, now: now), renewed !== token
    else { return nil }
    return renewed
  }

  package func makeShownCredentials() -> any ShownCredentials { PresentedCredentials(self) }
}

/// Why a key signs no provider token.
package struct SigningError: Error, Sendable, CustomStringConvertible {
  package let message: String
  package let cause: String?

  package init(_ message: String, cause: String? = nil) {
    self.message = message
    self.cause = cause
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }
}

/// What the body of a refused request says: `{"reason": …, "timestamp": …}`.
package struct Answer: Equatable {
  package let reason: String?
  /// Ms since 1970; with 410 only.
  package let timestamp: Int64?

  /// More than Apple ever sends; the rest of a longer body is not kept.
  static let maximumBytes = 4096

  /// A body that is not what Apple documents gives an answer without a reason; the status decides
  /// then.
  package init(body: [UInt8]) {
    guard !body.isEmpty,
      let value = try? JSONValue.parse(body, maximumBytes: Self.maximumBytes, maximumDepth: 4)
    else {
      reason = nil
      timestamp = nil
      return
    }
    reason = value.object?["reason"]?.string
    timestamp = value.object?["timestamp"]?.integer
  }
}

/// When the provider tokens of a key are issued: at the same moments by all who have it, so that
/// they make the very same ones. "Refresh your token no more than once every 20 minutes and no less
/// than once every 60 minutes" (Apple, "Establishing a token-based connection to APNs").
///
/// With a lifetime of 50 minutes tokens are issued at every half hour. Who needs one takes the last
/// and keeps it until it is 50 minutes old: at least 20 minutes, and then 30 at a time. Since at
/// least 20 minutes lie between the times of issue, no more than two are in use at once.
struct ProviderTokenTimes {
  /// Milliseconds. Not renewed sooner than this, whatever Apple says of it.
  static let minimumUse: Int64 = 20 * 60_000

  /// Milliseconds: the age at which a token is renewed.
  let lifetime: Int64

  /// - Parameter lifetime: kept between 40 and 60 minutes.
  init(lifetime: Duration) {
    let seconds = min(max(lifetime.components.seconds, 40 * 60), 60 * 60)
    self.lifetime = seconds * 1000
  }

  /// Milliseconds between one time of issue and the next.
  var interval: Int64 { lifetime - Self.minimumUse }

  /// The last time of issue at `now` (both ms since 1970).
  func issueTime(at now: Int64) -> Int64 {
    let since = now % interval
    return now - (since < 0 ? since + interval : since)
  }
}

/// What a connection shows Apple, and whether pushes may go on it with another: "APNs returns an
/// error if it sees more than one new token within 20 minutes on a connection", and "if you revoke
/// a key, close all connections" (Apple, "Establishing a token-based connection to APNs"). A
/// certificate is shown when the connection is made, and never another. A pure machine; times are
/// monotonic nanoseconds.
struct PresentedCredentials: ShownCredentials {
  private static let minimumUse = UInt64(ProviderTokenTimes.minimumUse) * 1_000_000

  /// nil: requests go with provider tokens.
  let certificate: ClientIdentity.Certificate?
  private var shown: ProviderToken?
  private var since: UInt64 = 0

  init(_ credentials: APNsCredentials) {
    switch credentials {
    case .key: certificate = nil
    case .certificate(let identity): certificate = identity.current
    }
  }

  func security(for interface: APNsInterface) -> ClientSecurity? {
    certificate?.security(for: interface)
  }

  mutating func show(_ credential: any Credential, at now: UInt64) {
    guard credential !== shown, let token = credential as? ProviderToken else { return }
    if shown.map({ Self.isSame($0, token) }) != true { since = now }
    shown = token
  }

  func mayShow(_ credential: any Credential, at now: UInt64) -> Bool {
    guard let token = credential as? ProviderToken else { return credential === certificate }
    return mayPresent(token, at: now)
  }

  private func mayPresent(_ token: ProviderToken, at now: UInt64) -> Bool {
    guard certificate == nil else { return false }
    guard let shown, shown !== token, !Self.isSame(shown, token) else { return true }
    return shown.key === token.key && now &- since >= Self.minimumUse
  }

  /// A clock that was set right again brings back a token byte for byte.
  private static func isSame(_ one: ProviderToken, _ other: ProviderToken) -> Bool {
    one.key === other.key && one.authorization.bytes.elementsEqual(other.authorization.bytes)
  }
}

/// Writes pushes as requests of APNs ("Sending notification requests to APNs"): `POST /3/device/`
/// and the token. Of the two header blocks of a connection each is filled in with a fan-out's
/// fields when the one before was of another. Confined to its connection.
final class APNsRequestWriter: RequestWriter {
  private let plain: HTTP2FieldBlock
  private let collapsing: HTTP2FieldBlock
  private var block: HTTP2FieldBlock
  private var filledWith: EncodedHeaders?
  /// `:path` of each slot: its constant beginning, then the token.
  private let paths: UnsafeMutableRawPointer

  private static let pathPrefix = Array("/3/device/".utf8)
  private static let pathPrefixBytes = pathPrefix.count
  private static let maximumTokenBytes = Platform.apns.tokens.maximumBytes
  private static let pathBytes = pathPrefixBytes + maximumTokenBytes

  /// - Parameter authorizes: whether requests go with a provider token.
  init(authority: String, slots: Int, authorizes: Bool) throws(HTTP2Error) {
    plain = try EncodedHeaders.makeBlock(
      authority: authority, authorizes: authorizes, collapses: false)
    collapsing = try EncodedHeaders.makeBlock(
      authority: authority, authorizes: authorizes, collapses: true)
    block = plain
    paths = .allocate(byteCount: slots * Self.pathBytes, alignment: 16)
    for slot in 0..<slots {
      (paths + slot * Self.pathBytes).copyMemory(
        from: Self.pathPrefix, byteCount: Self.pathPrefixBytes)
    }
  }

  deinit { paths.deallocate() }

  func begin(_ shared: SharedHeaders) -> Bool {
    let headers = unsafeDowncast(shared.fields, to: EncodedHeaders.self)
    guard filledWith !== headers else { return true }
    filledWith = nil
    block = headers.headers.collapseID == nil ? plain : collapsing
    guard headers.apply(to: block) else { return false }
    filledWith = headers
    return true
  }

  func request(
    for push: PushBatch.Entry, in bytes: ByteArena, slot: Int
  ) -> (fields: HTTP2FieldBlock, body: UnsafeRawBufferPointer)? {
    let path = path(slot, token: bytes[push.token])
    guard block.set(EncodedHeaders.Field.path, path),
      block.set(EncodedHeaders.Field.apnsID, bytes[push.apnsID])
    else { return nil }
    return (block, bytes[push.payload])
  }

  /// Writes the path for `token` into the slot's own memory and lends it.
  private func path(_ slot: Int, token: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let start = paths + slot * Self.pathBytes
    let length = min(token.count, Self.maximumTokenBytes)
    if let base = token.baseAddress {
      (start + Self.pathPrefixBytes).copyMemory(from: base, byteCount: length)
    }
    return UnsafeRawBufferPointer(start: start, count: Self.pathPrefixBytes + length)
  }
}

/// The header fields that pushes of a fan-out share, and the provider token that they are sent
/// with if any, as bytes that nghttp2 may borrow: who keeps this keeps them all.
final class EncodedHeaders {
  let headers: PushHeaders
  let token: ProviderToken?
  private let topic: StableBytes
  private let pushType: StableBytes
  private let priority: StableBytes
  private let expiration: StableBytes
  private let collapseID: StableBytes?

  init(_ headers: PushHeaders, token: ProviderToken?) {
    self.headers = headers
    self.token = token
    topic = StableBytes(headers.topic)
    pushType = StableBytes(headers.pushType.rawValue)
    priority = StableBytes(String(headers.priority))
    expiration = StableBytes(String(headers.expiration))
    collapseID = headers.collapseID.map { StableBytes($0) }
  }

  /// Makes the block to fill in for each push. The order is the wire's: what stays the same comes
  /// first.
  static func makeBlock(
    authority: String, authorizes: Bool, collapses: Bool
  ) throws(HTTP2Error) -> HTTP2FieldBlock {
    var fields: [(name: String, value: String, indexing: HTTP2Indexing)] = [
      (":method", "POST", .indexed), (":scheme", "https", .indexed),
      (":authority", authority, .indexed), (":path", "/3/device/", .never),
      ("apns-id", "", .never),
      ("apns-topic", "", .indexed), ("apns-push-type", "", .indexed),
      ("apns-priority", "", .indexed), ("apns-expiration", "", .indexed),
    ]
    // A secret, and longer than it is worth a place in Apple's table.
    if authorizes { fields.append(("authorization", "", .never)) }
    if collapses { fields.append(("apns-collapse-id", "", .indexed)) }
    return try HTTP2FieldBlock(fields)
  }

  enum Field {
    static let path = 3
    static let apnsID = 4
    static let topic = 5
    static let pushType = 6
    static let priority = 7
    static let expiration = 8
    /// From here on those that not every request has.
    static let optional = 9
  }

  /// False when a value holds what a header must not: CR, LF, NUL and their like.
  func apply(to block: HTTP2FieldBlock) -> Bool {
    var isClean =
      block.set(Field.topic, topic.bytes) && block.set(Field.pushType, pushType.bytes)
      && block.set(Field.priority, priority.bytes) && block.set(Field.expiration, expiration.bytes)
    var next = Field.optional
    if let token {
      isClean = isClean && block.set(next, token.authorization.bytes)
      next += 1
    }
    if let collapseID { isClean = isClean && block.set(next, collapseID.bytes) }
    return isClean
  }
}

/// The certificate that connections show; another may be put in its place.
package final class ClientIdentity: Sendable {
  /// One certificate, as connections are made with it.
  package final class Certificate: Credential {
    package let http2: ClientSecurity
    /// The legacy binary interface agrees on no protocol in TLS.
    package let binary: ClientSecurity
    /// Ms since 1970.
    package let expiresAt: Int64
    /// In words, for an operator: what it is for.
    package let words: String

    package init(
      http2: ClientSecurity, binary: ClientSecurity, expiresAt: Int64, words: String
    ) {
      self.http2 = http2
      self.binary = binary
      self.expiresAt = expiresAt
      self.words = words
    }

    package func security(for interface: APNsInterface) -> ClientSecurity {
      interface == .http2 ? http2 : binary
    }
  }

  private let certificate: ThreadLock<Certificate>

  package init(_ certificate: Certificate) { self.certificate = ThreadLock(certificate) }

  package var current: Certificate { certificate.withLock { $0 } }

  /// From now on, by all lanes. Connections that have shown another certificate end.
  package func use(_ other: Certificate) { certificate.withLock { $0 = other } }
}
