import Deliver
import HTTP2
import Model

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
