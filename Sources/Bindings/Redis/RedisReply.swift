/// A reply or an element of one. Asking for another type than it has gives nil; nothing traps.
package struct RedisReply {
  package enum Kind: UInt8, Sendable {
    case null, string, integer, array, status, error
  }

  private let replies: RedisReplies
  /// Of its node; -1 stands for what is not there.
  private let index: Int

  init(replies: RedisReplies, index: Int) {
    self.replies = replies
    self.index = index
  }

  @inline(__always)
  private var node: ReplyNode {
    index >= 0 ? replies.storage.pointee.nodes[index] : .null
  }

  package var kind: Kind { node.kind }
  package var isNull: Bool { node.kind == .null }

  /// Of an integer reply.
  package var integer: Int64? {
    let node = node
    return node.kind == .integer ? node.value : nil
  }

  /// Of an integer reply or of a string that is a plain decimal, as counters in hashes are.
  package var decimal: Int64? { integer ?? text.flatMap { Int64($0) } }

  /// The bytes of a string or status; they stand as long as the `RedisReplies` do.
  package var bytes: UnsafeRawBufferPointer? {
    let node = node
    guard node.kind == .string || node.kind == .status else { return nil }
    return content(node)
  }

  /// A string or status that is valid UTF-8.
  package var text: String? { bytes.flatMap { String(validating: $0, as: UTF8.self) } }

  package var error: RedisErrorReply? { errorText.map { RedisErrorReply($0) } }

  /// The text of an error reply; bytes that are no UTF-8 are replaced. A key of another type is
  /// named (`WrongTypeText`).
  package var errorText: String? {
    let node = node
    guard node.kind == .error else { return nil }
    return replies.renamedErrors[index] ?? String(decoding: content(node), as: UTF8.self)
  }

  func renameError(_ text: String) { replies.renamedErrors[index] = text }

  /// Elements of an array; 0 for everything else.
  package var count: Int {
    let node = node
    return node.kind == .array ? Int(node.count) : 0
  }

  /// An element of an array; null when there is none.
  package subscript(_ position: Int) -> RedisReply {
    let node = node
    guard node.kind == .array, position >= 0, position < Int(node.count) else {
      return RedisReply(replies: replies, index: -1)
    }
    return RedisReply(replies: replies, index: Int(node.value) + position)
  }

  /// The hot path: every element in order, without a view of its own: its kind, and its bytes when
  /// it is a string or status (empty otherwise), good as long as the `RedisReplies`. Nothing when
  /// this is no array.
  @inline(__always)
  package func forEachElement(_ body: (Int, Kind, UnsafeRawBufferPointer) -> Void) {
    let node = node
    guard node.kind == .array else { return }
    let first = replies.storage.pointee.nodes + Int(node.value)
    let bytes = UnsafeRawPointer(replies.storage.pointee.bytes)
    for position in 0..<Int(node.count) {
      let element = first[position]
      let isText = element.kind == .string || element.kind == .status
      let text = UnsafeRawBufferPointer(
        start: isText ? bytes + Int(element.value) : bytes, count: isText ? Int(element.count) : 0)
      body(position, element.kind, text)
    }
    withExtendedLifetime(replies) {}
  }

  /// The elements of an array that are texts in pairs (HGETALL, CONFIG GET). Pairs that are no text
  /// are left out; nil when this is no array.
  package var dictionary: [String: String]? {
    guard kind == .array else { return nil }
    var result: [String: String] = [:]
    for position in stride(from: 0, to: count - 1, by: 2) {
      if let key = self[position].text, let value = self[position + 1].text { result[key] = value }
    }
    return result
  }

  private func content(_ node: ReplyNode) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: replies.storage.pointee.bytes + Int(node.value), count: Int(node.count))
  }
}
