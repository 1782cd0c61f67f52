/// One element of a reply.
struct ReplyNode {
  /// Integer: itself. String, status, error: where its bytes begin. Array: the index of its first
  /// element.
  var value: Int64
  /// Bytes or elements.
  var count: Int32
  var kind: RedisReply.Kind

  static let null = ReplyNode(value: 0, count: 0, kind: .null)
}
