import CHiredis
import EventLoop
import Text

/// Bytes in, replies out: hiredis's reader with callbacks of our own, which write into the storage
/// of the replies that are expected next. One reader serves one connection; after an error it is
/// done.
package final class RedisReplyReader {
  /// A status, error, integer or length line longer than this is no reply; hiredis would search it
  /// again with each piece.
  package static let maximumLineBytes = 64 * 1024
  /// hiredis moves what is left of a piece each time that it has parsed 1 KiB, so pieces are small.
  private static let pieceBytes = 4096

  private let reader: UnsafeMutablePointer<redisReader>
  private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
  private var expected = Queue<RedisReplies>()
  private var failure: RedisError?
  /// The missing bytes of the string that is being read; 0 when they are not known.
  private var missingStringBytes = 0

  package init() throws(RedisError) {
    functions = .allocate(capacity: 1)
    functions.initialize(
      to: redisReplyObjectFunctions(
        createString: createString, createArray: createArray, createInteger: createInteger,
        createNil: createNil, freeObject: freeObject))
    guard let reader = redisReaderCreateWithFunctions(functions) else {
      functions.deallocate()
      throw RedisError(.protocolError, "hiredis gave no reader: there is no memory left")
    }
    self.reader = reader
  }

  deinit {
    redisReaderFree(reader)
    functions.deallocate()
  }

  /// The next replies on the wire are these; first in, first out.
  package func expect(_ replies: RedisReplies) {
    if !replies.isComplete { expected.append(replies) }
  }

  /// Reads as far as `bytes` go. Replies that have become whole say so in `isComplete`, also when
  /// an error is thrown: what was asked before it has its answer.
  package func receive(_ bytes: UnsafeRawBufferPointer) throws(RedisError) {
    if let failure { throw failure }
    var rest = bytes
    while let start = rest.baseAddress, !rest.isEmpty {
      let piece = min(rest.count, max(missingStringBytes, Self.pieceBytes))
      let fed = redisReaderFeed(reader, start.assumingMemoryBound(to: CChar.self), piece)
      guard fed == REDIS_OK else { throw failed("hiredis takes no more: there is no memory left") }
      rest = UnsafeRawBufferPointer(rebasing: rest[piece...])
      try parse()
    }
  }

  private var unparsedBytes: Int { Int(reader.pointee.len) - Int(reader.pointee.pos) }

  private func parse() throws(RedisError) {
    while unparsedBytes > 0 {
      guard let replies = expected.first else { throw failed("Redis answers what nobody asked") }
      reader.pointee.privdata = UnsafeMutableRawPointer(replies.storage)
      var root: UnsafeMutableRawPointer?
      guard redisReaderGetReply(reader, &root) == REDIS_OK else {
        if replies.storage.pointee.isOverLimit { throw tooLarge(replies) }
        throw failed("Redis answers with something that is no RESP: \(readerMessage)")
      }
      guard root != nil else { return try checkUnparsed(replies) }
      missingStringBytes = 0
      replies.storage.pointee.received += 1
      if replies.isComplete { _ = expected.popFirst() }
    }
  }

  /// A part that waits for more bytes must be a string within the limit or the beginning of a short
  /// line.
  private func checkUnparsed(_ replies: RedisReplies) throws(RedisError) {
    missingStringBytes = 0
    guard let buffer = reader.pointee.buf, unparsedBytes > 0 else { return }
    let waiting = UnsafeRawBufferPointer(
      start: buffer + Int(reader.pointee.pos), count: unparsedBytes)
    guard isReadingString, let whole = Self.wholeStringBytes(waiting) else {
      guard waiting.count <= Self.maximumLineBytes else {
        throw failed("Redis answers with a line of more than \(Self.maximumLineBytes) bytes")
      }
      return
    }
    let limit = replies.storage.pointee.maximumBytes
    guard whole <= limit + 32 else { throw tooLarge(replies) }
    missingStringBytes = whole - waiting.count
  }

  /// hiredis has read the `$` and waits for the rest of a string.
  private var isReadingString: Bool {
    withUnsafeBytes(of: &reader.pointee.rstack) { tasks in
      let tasks = tasks.assumingMemoryBound(to: redisReadTask.self)
      let index = Int(reader.pointee.ridx)
      return tasks.indices.contains(index) && tasks[index].type == REDIS_REPLY_STRING
    }
  }

  /// The bytes of a string on the wire from its length to its line end; nil when the length is not
  /// whole yet or no plain number.
  private static func wholeStringBytes(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var length = 0
    for position in 0..<min(bytes.count, 18) {
      let byte = bytes[position]
      if byte == 0x0D {
        let isLineEnd = position + 1 < bytes.count && bytes[position + 1] == 0x0A
        return isLineEnd ? position + 2 + length + 2 : nil
      }
      guard byte.isASCIIDigit else { return nil }
      length = length * 10 + Int(byte - 0x30)
    }
    return nil
  }

  private var readerMessage: String {
    withUnsafeBytes(of: reader.pointee.errstr) { text in
      // hiredis quotes a byte that it does not know as it is.
      let printable = text.prefix { $0 != 0 }.map { $0 >= 0x20 && $0 < 0x7F ? $0 : 0x3F }
      return String(decoding: printable, as: UTF8.self)
    }
  }

  private func tooLarge(_ replies: RedisReplies) -> RedisError {
    let limit = replies.storage.pointee.maximumBytes
    return failed("Redis answers with more than \(limit) bytes", .replyTooLarge)
  }

  private func failed(_ message: String, _ code: RedisError.Code = .protocolError) -> RedisError {
    let error = RedisError(code, message)
    failure = error
    return error
  }
}

// MARK: - hiredis's callbacks: each writes one node

private typealias Task = UnsafePointer<redisReadTask>

/// Where the element of this task stands: its reply's own node, or its place among its array's
/// elements.
@inline(__always)
private func slot(
  _ task: Task, in storage: UnsafeMutablePointer<ReplyStorage>
) -> UnsafeMutablePointer<ReplyNode>? {
  guard let parent = task.pointee.parent else {
    guard storage.pointee.received < storage.pointee.expected else { return nil }
    return storage.pointee.nodes + storage.pointee.received
  }
  // An array's object is its node's index plus one.
  let array = Int(bitPattern: parent.pointee.obj) - 1
  guard array >= 0, array < storage.pointee.nodeCount else { return nil }
  let node = storage.pointee.nodes[array]
  let position = Int(task.pointee.idx)
  guard position >= 0, position < Int(node.count) else { return nil }
  return storage.pointee.nodes + Int(node.value) + position
}

/// The pointer that hiredis gets for an element without elements: anything but null, which would
/// mean no memory.
private var present: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: 1) }

@inline(__always)
private func storage(of task: Task) -> UnsafeMutablePointer<ReplyStorage>? {
  task.pointee.privdata?.assumingMemoryBound(to: ReplyStorage.self)
}

private func createString(
  _ task: UnsafePointer<redisReadTask>?, _ text: UnsafeMutablePointer<CChar>?, _ length: Int
) -> UnsafeMutableRawPointer? {
  guard let task, let text, let storage = storage(of: task), length <= Int(Int32.max),
    let offset = storage.pointee.append(UnsafeRawPointer(text), length),
    let slot = slot(task, in: storage)
  else { return nil }
  let kind: RedisReply.Kind =
    switch task.pointee.type {
    case REDIS_REPLY_STATUS: .status
    case REDIS_REPLY_ERROR: .error
    default: .string
    }
  slot.pointee = ReplyNode(value: Int64(offset), count: Int32(length), kind: kind)
  if kind == .error {
    let line = UnsafeRawBufferPointer(start: text, count: length)
    let error = ErrorReplyTable.kind(of: String(decoding: line, as: UTF8.self))
    if error == .readOnly { storage.pointee.refusesWrites = true }
    if error.isRefusal { storage.pointee.refusals += 1 }
    if error == .wrongType { storage.pointee.wrongTypes += 1 }
  }
  return present
}

private func createArray(
  _ task: UnsafePointer<redisReadTask>?, _ count: Int32
) -> UnsafeMutableRawPointer? {
  // The room first: it may move the nodes.
  guard let task, let storage = storage(of: task), count >= 0,
    let first = storage.pointee.appendElements(Int(count)), let slot = slot(task, in: storage)
  else { return nil }
  slot.pointee = ReplyNode(value: Int64(first), count: count, kind: .array)
  return UnsafeMutableRawPointer(bitPattern: slot - storage.pointee.nodes + 1)
}

private func createInteger(
  _ task: UnsafePointer<redisReadTask>?, _ value: Int64
) -> UnsafeMutableRawPointer? {
  guard let task, let storage = storage(of: task), let slot = slot(task, in: storage) else {
    return nil
  }
  slot.pointee = ReplyNode(value: value, count: 0, kind: .integer)
  return present
}

private func createNil(_ task: UnsafePointer<redisReadTask>?) -> UnsafeMutableRawPointer? {
  guard let task, let storage = storage(of: task), let slot = slot(task, in: storage) else {
    return nil
  }
  slot.pointee = .null
  return present
}

/// Nodes belong to their storage: hiredis has nothing to free.
private func freeObject(_ object: UnsafeMutableRawPointer?) {}

package enum RedisLibraryVersion {
  /// The hiredis that this was compiled against: `0.14.1`. It does not say its version at run time.
  package static var string: String { "\(HIREDIS_MAJOR).\(HIREDIS_MINOR).\(HIREDIS_PATCH)" }
}
