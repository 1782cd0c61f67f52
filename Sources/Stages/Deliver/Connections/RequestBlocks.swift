import HTTP2

/// The header blocks that the requests of one connection are written with, filled in with a
/// fan-out's fields when the one before was of another. Confined to its connection.
final class RequestBlocks {
  private let plain: HTTP2FieldBlock
  private let collapsing: HTTP2FieldBlock
  private var filledWith: EncodedHeaders?

  /// - Parameter authorizes: whether requests go with a provider token.
  init(authority: String, authorizes: Bool) throws(HTTP2Error) {
    plain = try EncodedHeaders.makeBlock(
      authority: authority, authorizes: authorizes, collapses: false)
    collapsing = try EncodedHeaders.makeBlock(
      authority: authority, authorizes: authorizes, collapses: true)
  }

  /// nil when a value holds what a header must not.
  func block(for headers: EncodedHeaders) -> HTTP2FieldBlock? {
    let block = headers.headers.collapseID == nil ? plain : collapsing
    if filledWith !== headers {
      filledWith = nil
      guard headers.apply(to: block) else { return nil }
      filledWith = headers
    }
    return block
  }
}
