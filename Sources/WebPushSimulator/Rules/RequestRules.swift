import Text

/// The rules for requests to push a message: RFC 8030, RFC 8291, RFC 8292, and the services' own.
/// Confined to the simulator's loop.
final class RequestRules {
  /// RFC 8030, section 7.2: a service must take so much, and most take no more.
  static let maximumBodyBytes = 4096
  static let maximumTopicBytes = 32
  private static let urgencies = ["very-low", "low", "normal", "high"].map { Array($0.utf8) }
  private static let mostTTLDigits = 10

  /// A request that is in order.
  struct Judged {
    let subscription: Subscriptions.Found
    /// Seconds.
    let ttl: Int
    /// Decrypted, without padding; empty where the request had no body.
    let message: [UInt8]
  }

  private let subscriptions: Subscriptions
  let tokens: VAPIDTokens
  private let reader: MessageReader

  init(_ subscriptions: Subscriptions, _ reader: MessageReader, checksSignatures: Bool = true) {
    self.subscriptions = subscriptions
    tokens = VAPIDTokens(checksSignatures: checksSignatures)
    self.reader = reader
  }

  func judge(_ request: OpenRequest, nowSeconds: Int64) throws(WebPushRefusal) -> Judged {
    guard request[.method].elementsEqual("POST".utf8) else {
      throw WebPushRefusal(.badMethod, "a message is pushed by POST")
    }
    let host = request.host
    let dialect = ServiceDialect(host: host)
    guard let found = try? subscriptions.find(host: host, path: request[.path]) else {
      throw WebPushRefusal(.unknownSubscription, "there is no such subscription")
    }
    guard !found.hasEnded else { throw WebPushRefusal(.gone, "the subscription has ended") }
    guard !request.isTooLong, request.body.count <= Self.maximumBodyBytes else {
      throw WebPushRefusal(.tooLarge, "the body is over \(Self.maximumBodyBytes) bytes")
    }
    let ttl = try Self.ttl(request, dialect)
    try Self.checkFields(request, dialect)
    guard request.count(.authorization) > 0 else {
      throw WebPushRefusal(.noAuthorization, "there is no authorization")
    }
    guard request.count(.authorization) == 1 else {
      throw WebPushRefusal(.badAuthorization, "authorization came twice")
    }
    let key = try tokens.judge(
      request[.authorization], origin: request.origin, dialect, nowSeconds: nowSeconds)
    if let bound = found.applicationServerKey, bound != key {
      throw WebPushRefusal(.otherKey, "the subscription was made with another VAPID key")
    }
    guard !request.body.isEmpty else { return Judged(subscription: found, ttl: ttl, message: []) }
    let message = try reader.read(request.body, pair: found.pair, secret: found.secret)
    return Judged(subscription: found, ttl: ttl, message: message)
  }

  private static func ttl(
    _ request: OpenRequest, _ dialect: ServiceDialect
  ) throws(WebPushRefusal) -> Int {
    guard request.count(.ttl) > 0 else { throw WebPushRefusal(.noTTL, "there is no TTL") }
    let digits = request[.ttl]
    guard request.count(.ttl) == 1, digits.count <= mostTTLDigits,
      digits.allSatisfy(\.isASCIIDigit), let ttl = Int(String(decoding: digits, as: UTF8.self))
    else { throw WebPushRefusal(.badTTL, "the TTL is not a number of seconds") }
    // Seen at WNS (web-push-csharp #93): a message that is not kept must not be cached.
    if dialect == .windows {
      let wanted = ttl == 0 ? "no-cache" : "cache"
      guard request.count(.cachePolicy) == 1, request[.cachePolicy].elementsEqual(wanted.utf8)
      else {
        throw WebPushRefusal(
          .badCachePolicy, "X-WNS-Cache-Policy must be \(wanted) with a TTL of \(ttl)")
      }
    }
    return ttl
  }

  private static func checkFields(
    _ request: OpenRequest, _ dialect: ServiceDialect
  ) throws(WebPushRefusal) {
    if request.count(.urgency) > 0 {
      guard request.count(.urgency) == 1, urgencies.contains(request[.urgency]) else {
        throw WebPushRefusal(.badUrgency, "the urgency is not one of RFC 8030's, or came twice")
      }
    }
    if request.count(.topic) > 0 {
      let topic = request[.topic]
      guard request.count(.topic) == 1, (1...maximumTopicBytes).contains(topic.count),
        topic.allSatisfy(isBase64URL)
      else {
        throw WebPushRefusal(.badTopic, "a topic is 1 to 32 characters of base64url")
      }
      // Apple decodes it: no number of bytes has this length.
      guard dialect != .apple || topic.count % 4 != 1 else {
        throw WebPushRefusal(.badTopic, "the topic cannot be decoded")
      }
    }
    guard request.count(.oldEncryption) == 0 else {
      throw WebPushRefusal(.oldEncryption, "aes128gcm takes neither Encryption nor Crypto-Key")
    }
    let isEncrypted = request[.contentEncoding].elementsEqual("aes128gcm".utf8)
    guard request.count(.contentEncoding) == (request.body.isEmpty ? 0 : 1),
      isEncrypted != request.body.isEmpty
    else {
      throw WebPushRefusal(.badEncoding, "a body comes with Content-Encoding: aes128gcm alone")
    }
  }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    byte.isASCIIWord || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }
}
