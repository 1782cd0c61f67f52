import Deliver
import HTTP2
import Model
import Subscriptions
import TLS
import Text

/// Writes pushes as requests for delivery (RFC 8030, section 5): each a `POST` to the endpoint of a
/// subscription, encrypted for it. Confined to its connection.
///
/// A header block for messages with a topic and one for those without; each is filled in with a
/// fan-out's fields when the one before was of another.
final class WebPushRequestWriter: RequestWriter {
  private let plain: HTTP2FieldBlock
  private let replacing: HTTP2FieldBlock
  private var filledWith: WebPushHeaders?
  private let authority: [UInt8]
  private let tellsCachePolicy: Bool
  private let encryptor: MessageEncryptor
  private let wallClock: @Sendable () -> Int64
  /// Of each slot: the body, then the digits of the TTL.
  private let memory: UnsafeMutableRawPointer
  /// The keys of the push that is written.
  private let subscription = UnsafeMutableRawPointer.allocate(
    byteCount: SubscriptionKeys.byteCount, alignment: 1)

  private static let bodyBytes = MessageEncryptor.maximumBodyBytes
  private static let slotBytes = bodyBytes + 16
  private static let cached = StableBytes("cache")
  private static let uncached = StableBytes("no-cache")
  private static let defaultPort = Array(":443".utf8)

  /// - Parameter wallClock: ms since 1970.
  init(
    authority: String, slots: Int, _ dialect: PushServiceDialect, _ encryption: MessageEncryption,
    wallClock: @escaping @Sendable () -> Int64
  ) throws(HTTP2Error) {
    // WNS refuses a TTL that does not fit its own header field.
    tellsCachePolicy = dialect == .windows
    plain = try WebPushHeaders.makeBlock(
      authority: authority, tellsCachePolicy: tellsCachePolicy, replaces: false)
    replacing = try WebPushHeaders.makeBlock(
      authority: authority, tellsCachePolicy: tellsCachePolicy, replaces: true)
    self.authority = Array(authority.utf8)
    self.wallClock = wallClock
    do throws(TLSError) {
      encryptor = try MessageEncryptor(encryption)
    } catch {
      // Every OpenSSL with TLS has both algorithms.
      preconditionFailure("messages cannot be encrypted: \(error)")
    }
    memory = .allocate(byteCount: max(slots, 1) * Self.slotBytes, alignment: 16)
  }

  deinit {
    memory.deallocate()
    subscription.deallocate()
  }

  func fields(sharing shared: SharedHeaders) -> HTTP2FieldBlock? {
    let headers = unsafeDowncast(shared.fields, to: WebPushHeaders.self)
    let block = headers.topic == nil ? plain : replacing
    if filledWith !== headers {
      filledWith = nil
      guard headers.apply(to: block, tellsCachePolicy: tellsCachePolicy) else { return nil }
      filledWith = headers
    }
    return block
  }

  /// Nil as well for an endpoint of another service, which must never see this one's, and for a
  /// subscription that was made with a key pair that is not ours.
  func fill(
    _ fields: HTTP2FieldBlock, for push: PushBatch.Entry, in bytes: ByteArena, slot: Int
  ) -> UnsafeRawBufferPointer? {
    fill(
      fields, keys: bytes[push.keys], token: bytes[push.token], message: bytes[push.payload],
      slot: slot)
  }

  /// As above. `token` stays where it is as long as the fields are used.
  func fill(
    _ fields: HTTP2FieldBlock, keys: UnsafeRawBufferPointer, token: UnsafeRawBufferPointer,
    message: UnsafeRawBufferPointer, slot: Int
  ) -> UnsafeRawBufferPointer? {
    let start = memory + slot * Self.slotBytes
    guard let headers = filledWith,
      let keyID = SubscriptionKeys.read(keys, to: subscription),
      let authorization = headers.tokens.authorization(keyID),
      let path = path(in: token)
    else { return nil }
    let seconds = headers.secondsLeft(at: wallClock())
    let digits = Self.write(seconds, to: start + Self.bodyBytes)
    guard fields.set(WebPushHeaders.Field.path, path),
      fields.set(WebPushHeaders.Field.authorization, authorization),
      fields.set(WebPushHeaders.Field.ttl, digits)
    else { return nil }
    if tellsCachePolicy {
      let policy = seconds == 0 ? Self.uncached : Self.cached
      guard fields.set(WebPushHeaders.Field.optional, policy.bytes) else { return nil }
    }
    let body = UnsafeMutableRawBufferPointer(start: start, count: Self.bodyBytes)
    let subscription = UnsafeRawBufferPointer(
      start: subscription, count: SubscriptionKeys.byteCount)
    guard
      let count = try? encryptor.encrypt(message, for: subscription, to: body)
    else { return nil }
    return UnsafeRawBufferPointer(start: start, count: count)
  }

  /// Path and query stand in the batch's own memory, which stays as it is.
  private func path(in endpoint: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard let start = PushEndpoint.pathOffset(in: endpoint) else { return nil }
    let named = endpoint[PushEndpoint.scheme.count..<start]
    guard named.starts(with: authority) else { return nil }
    let rest = named.dropFirst(authority.count)
    guard rest.isEmpty || rest.elementsEqual(Self.defaultPort) else { return nil }
    return UnsafeRawBufferPointer(rebasing: endpoint[start...])
  }

  private static func write(
    _ number: Int64, to target: UnsafeMutableRawPointer
  ) -> UnsafeRawBufferPointer {
    var count = 1
    var rest = number / 10
    while rest > 0 {
      count += 1
      rest /= 10
    }
    rest = number
    for index in (0..<count).reversed() {
      target.storeBytes(of: UInt8(0x30 + rest % 10), toByteOffset: index, as: UInt8.self)
      rest /= 10
    }
    return UnsafeRawBufferPointer(start: target, count: count)
  }
}

/// The header fields that pushes of a fan-out share, and the tokens that they are sent with, as
/// bytes that nghttp2 may borrow: who keeps this keeps them all.
final class WebPushHeaders {
  /// Seconds. Services store no message for longer than about a month.
  private static let longestTTL: Int64 = 2_419_200

  let tokens: VAPIDTokens
  let topic: StableBytes?
  private let urgency: StableBytes
  private let headers: PushHeaders

  init(_ headers: PushHeaders, _ tokens: VAPIDTokens) {
    self.tokens = tokens
    topic = headers.collapseID.map { StableBytes(Self.topic(of: $0)) }
    urgency = StableBytes(headers.urgency.rawValue)
    self.headers = headers
  }

  /// At most 32 characters of base64url (RFC 8030, section 5.4), and for Apple such that they can
  /// be decoded: 24 bytes of a hash, whatever the collapse id is.
  static func topic(of collapseID: String) -> String {
    Base64URL.encode(Array(SecretDigest(of: Array(collapseID.utf8)).bytes.prefix(24)))
  }

  /// 0: now or never (RFC 8030, section 5.2).
  func secondsLeft(at now: Int64) -> Int64 {
    headers.secondsLeft(at: now, atMost: Self.longestTTL)
  }

  enum Field {
    static let path = 3
    static let urgency = 6
    static let authorization = 7
    static let ttl = 8
    /// From here on those that not every request has.
    static let optional = 9
  }

  /// Makes the block to fill in for each push. The order is the wire's. A token stays the same for
  /// hours and is worth a place in the service's table; an endpoint is a secret, and never comes
  /// twice.
  static func makeBlock(
    authority: String, tellsCachePolicy: Bool, replaces: Bool
  ) throws(HTTP2Error) -> HTTP2FieldBlock {
    var fields: [(name: String, value: String, indexing: HTTP2Indexing)] = [
      (":method", "POST", .indexed), (":scheme", "https", .indexed),
      (":authority", authority, .indexed), (":path", "/", .never),
      ("content-encoding", "aes128gcm", .indexed),
      ("content-type", "application/octet-stream", .indexed), ("urgency", "", .indexed),
      ("authorization", "", .indexed), ("ttl", "", .indexed),
    ]
    if tellsCachePolicy { fields.append(("x-wns-cache-policy", "", .indexed)) }
    if replaces { fields.append(("topic", "", .indexed)) }
    return try HTTP2FieldBlock(fields)
  }

  /// False when a value holds what a header must not.
  func apply(to block: HTTP2FieldBlock, tellsCachePolicy: Bool) -> Bool {
    guard block.set(Field.urgency, urgency.bytes) else { return false }
    guard let topic else { return true }
    return block.set(Field.optional + (tellsCachePolicy ? 1 : 0), topic.bytes)
  }
}
