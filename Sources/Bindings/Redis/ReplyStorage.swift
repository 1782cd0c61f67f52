/// The replies of one pipeline while and after they are read: nodes in one block, bytes in another,
/// so that nothing is allocated per element. The elements of an array lie side by side, whatever is
/// nested in them. Lives in memory of its own, because hiredis hands its address to our callbacks.
struct ReplyStorage: ~Copyable {
  private(set) var nodes: UnsafeMutablePointer<ReplyNode>
  private(set) var nodeCount: Int
  private var nodeCapacity: Int
  private(set) var bytes: UnsafeMutableRawPointer
  private(set) var byteCount = 0
  private var byteCapacity: Int
  let expected: Int
  /// Replies that are whole.
  var received = 0
  let maximumBytes: Int
  /// Shared with the other nodes of a cluster that answer the same pipeline.
  private let allowance: ReplyAllowance?
  private(set) var isOverLimit = false
  /// One of the replies says READONLY: who answers is no master any more.
  var refusesWrites = false
  /// Replies by which Redis does not do now what it was asked: it lacks memory or its disk, or our
  /// user the permission.
  var refusals = 0
  /// Replies that say that a key holds another type than the command takes.
  var wrongTypes = 0

  init(expecting expected: Int, maximumBytes: Int, allowance: ReplyAllowance?) {
    self.expected = expected
    self.maximumBytes = maximumBytes
    self.allowance = allowance
    nodeCapacity = max(expected * 2, 16)
    nodes = .allocate(capacity: nodeCapacity)
    nodes.initialize(repeating: .null, count: expected)
    nodeCount = expected
    byteCapacity = max(min(expected * 64, 64 * 1024), 256)
    bytes = .allocate(byteCount: byteCapacity, alignment: 8)
  }

  deinit {
    nodes.deallocate()
    bytes.deallocate()
  }

  var used: Int { byteCount + (nodeCount - expected) * RedisReplies.elementBytes }

  private mutating func admits(_ more: Int) -> Bool {
    guard more <= maximumBytes - used, allowance?.admits(more) != false else {
      isOverLimit = true
      return false
    }
    return true
  }

  /// Copies a string's bytes; nil when the limit is passed.
  mutating func append(_ source: UnsafeRawPointer, _ count: Int) -> Int? {
    guard admits(count) else { return nil }
    if byteCount + count > byteCapacity { growBytes(count) }
    (bytes + byteCount).copyMemory(from: source, byteCount: count)
    defer { byteCount += count }
    return byteCount
  }

  /// Makes room for an array's elements, nulls for now; the first one's index, nil when the limit
  /// is passed.
  mutating func appendElements(_ count: Int) -> Int? {
    guard admits(count * RedisReplies.elementBytes) else { return nil }
    if nodeCount + count > nodeCapacity { growNodes(count) }
    (nodes + nodeCount).initialize(repeating: .null, count: count)
    defer { nodeCount += count }
    return nodeCount
  }

  /// The next reply is an error of ours.
  mutating func receiveError(_ text: UnsafeRawBufferPointer) {
    guard received < expected, let start = text.baseAddress, let offset = append(start, text.count)
    else { return }
    nodes[received] = ReplyNode(value: Int64(offset), count: Int32(text.count), kind: .error)
    received += 1
  }

  private mutating func growBytes(_ more: Int) {
    byteCapacity = max(min(byteCapacity * 2, maximumBytes), byteCount + more)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: byteCapacity, alignment: 8)
    grown.copyMemory(from: bytes, byteCount: byteCount)
    bytes.deallocate()
    bytes = grown
  }

  private mutating func growNodes(_ more: Int) {
    nodeCapacity = max(nodeCapacity * 2, nodeCount + more)
    let grown = UnsafeMutablePointer<ReplyNode>.allocate(capacity: nodeCapacity)
    grown.moveInitialize(from: nodes, count: nodeCount)
    nodes.deallocate()
    nodes = grown
  }
}

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

/// The bytes that the replies of one pipeline may take together, wherever they come from. Confined
/// to a loop.
final class ReplyAllowance {
  private var left: Int

  init(_ bytes: Int) { left = bytes }

  func admits(_ bytes: Int) -> Bool {
    guard bytes <= left else { return false }
    left -= bytes
    return true
  }

  /// Returns the bytes of replies that were dropped.
  func giveBack(_ bytes: Int) { left += bytes }
}
