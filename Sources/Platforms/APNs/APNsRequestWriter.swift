import Deliver
import HTTP2
import Model

/// Writes pushes as requests of APNs ("Sending notification requests to APNs"): `POST /3/device/`
/// and the token. Of the two header blocks of a connection each is filled in with a fan-out's
/// fields when the one before was of another. Confined to its connection.
final class APNsRequestWriter: RequestWriter {
  private let plain: HTTP2FieldBlock
  private let collapsing: HTTP2FieldBlock
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
    paths = .allocate(byteCount: slots * Self.pathBytes, alignment: 16)
    for slot in 0..<slots {
      (paths + slot * Self.pathBytes).copyMemory(
        from: Self.pathPrefix, byteCount: Self.pathPrefixBytes)
    }
  }

  deinit { paths.deallocate() }

  func fields(sharing shared: SharedHeaders) -> HTTP2FieldBlock? {
    let headers = unsafeDowncast(shared.fields, to: EncodedHeaders.self)
    let block = headers.headers.collapseID == nil ? plain : collapsing
    if filledWith !== headers {
      filledWith = nil
      guard headers.apply(to: block) else { return nil }
      filledWith = headers
    }
    return block
  }

  func fill(
    _ fields: HTTP2FieldBlock, for push: PushBatch.Entry, in bytes: ByteArena, slot: Int
  ) -> UnsafeRawBufferPointer? {
    let path = path(slot, token: bytes[push.token])
    guard fields.set(EncodedHeaders.Field.path, path),
      fields.set(EncodedHeaders.Field.apnsID, bytes[push.apnsID])
    else { return nil }
    return bytes[push.payload]
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
