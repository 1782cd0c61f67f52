import Deliver
import HTTP2
import Model

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
