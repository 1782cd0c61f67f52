/// What Redis answered to a pipeline: one reply per command, in order. Keeps the bytes that its
/// replies show.
package final class RedisReplies {
  let storage: UnsafeMutablePointer<ReplyStorage>
  /// What the nodes of a cluster answered, in the place of a storage's own replies.
  private let gathered: GatheredReplies?

  init(
    expecting count: Int, maximumBytes: Int, allowance: ReplyAllowance? = nil,
    gathered: GatheredReplies? = nil
  ) {
    storage = .allocate(capacity: 1)
    storage.initialize(
      to: ReplyStorage(expecting: count, maximumBytes: maximumBytes, allowance: allowance))
    self.gathered = gathered
  }

  convenience init(_ gathered: GatheredReplies) {
    self.init(expecting: 0, maximumBytes: 0, gathered: gathered)
  }

  /// The same replies, and in the place of some of them those of another pipeline.
  convenience init(_ replies: RedisReplies, replacing: [Int], by others: RedisReplies) {
    var gathered = GatheredReplies(count: replies.count)
    let source = gathered.add(replies)
    for index in 0..<replies.count { gathered.set(index, to: index, of: source) }
    let other = gathered.add(others)
    for (index, place) in replacing.enumerated() { gathered.set(place, to: index, of: other) }
    self.init(gathered)
  }

  /// One error, as if Redis had answered it.
  convenience init(error text: String) {
    self.init(expecting: 1, maximumBytes: text.utf8.count)
    var text = text
    text.withUTF8 { storage.pointee.receiveError(UnsafeRawBufferPointer($0)) }
  }

  deinit {
    storage.deinitialize(count: 1)
    storage.deallocate()
  }

  /// Commands sent; each has its reply once `execute` has returned.
  package var count: Int { gathered?.count ?? storage.pointee.expected }

  /// Bytes that these replies take, to judge how much may be asked for at once.
  package var byteCount: Int { gathered?.byteCount ?? storage.pointee.used }

  var isComplete: Bool { storage.pointee.received == storage.pointee.expected }

  /// Every command was sent elsewhere (MOVED), and none of them done.
  var areRedirects: Bool {
    count > 0
      && (0..<count).allSatisfy { self[$0].kind == .error && self[$0].error?.kind == .moved }
  }

  /// A null reply when there is no such command.
  package subscript(_ index: Int) -> RedisReply {
    if let reply = gathered?[index] { return reply }
    let isThere = index >= 0 && index < storage.pointee.expected
    return RedisReply(replies: self, index: isThere ? index : -1)
  }

  /// The first command that Redis refused.
  package var firstError: RedisErrorReply? {
    for index in 0..<count {
      if let error = self[index].error { return error }
    }
    return nil
  }
}

/// A reply or an element of one. Asking for another type than it has gives nil; nothing traps.
package struct RedisReply {
  package enum Kind: UInt8, Sendable {
    case null, string, integer, array, status, error
  }

  private let replies: RedisReplies
  /// -1 stands for what is not there.
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

  /// What Redis says about a command that it refused; bytes that are no UTF-8 are replaced.
  package var errorText: String? {
    let node = node
    return node.kind == .error ? String(decoding: content(node), as: UTF8.self) : nil
  }

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
