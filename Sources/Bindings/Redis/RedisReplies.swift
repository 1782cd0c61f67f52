/// The replies to a pipeline: one for each command, in order. Keeps the bytes that its replies
/// show.
package final class RedisReplies {
  /// The share of a limit that an element of an array takes, besides its bytes if it is a string.
  package static let elementBytes = MemoryLayout<ReplyNode>.stride

  let storage: UnsafeMutablePointer<ReplyStorage>
  /// The replies of a cluster's nodes, in the place of a storage's own replies.
  private let gathered: GatheredReplies?
  /// Errors in our words, by the index of the reply.
  var renamedErrors: [Int: String] = [:]

  package convenience init(expecting count: Int, maximumBytes: Int) {
    self.init(expecting: count, maximumBytes: maximumBytes, allowance: nil)
  }

  init(
    expecting count: Int, maximumBytes: Int, allowance: ReplyAllowance?,
    gathered: GatheredReplies? = nil
  ) {
    storage = .allocate(capacity: 1)
    storage.initialize(
      to: ReplyStorage(expecting: count, maximumBytes: maximumBytes, allowance: allowance))
    self.gathered = gathered
  }

  /// A command without a reply gets null.
  convenience init(_ gathered: GatheredReplies) {
    self.init(expecting: 0, maximumBytes: 0, allowance: nil, gathered: gathered)
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

  package var isComplete: Bool { storage.pointee.received == storage.pointee.expected }

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

  /// The first command that Redis would do at another time, or for another user.
  var refusal: RedisErrorReply? {
    let isAny = gathered?.hasRefusals ?? (storage.pointee.refusals > 0)
    guard isAny else { return nil }
    for index in 0..<count {
      if let error = self[index].error, error.kind.isRefusal { return error }
    }
    return nil
  }

  /// Redis does not say which key holds another type: the commands do.
  func nameWrongKeys(of pipeline: RedisPipeline) {
    let isAny = gathered?.hasWrongTypes ?? (storage.pointee.wrongTypes > 0)
    guard isAny, let commands = CommandScanner.commands(of: pipeline) else { return }
    for index in 0..<min(count, commands.count) {
      let reply = self[index]
      guard let error = reply.error, error.kind == .wrongType,
        error.message.contains(WrongTypeText.ofRedis)
      else { continue }
      let words = CommandScanner.words(of: pipeline, at: commands[index].bytes)
      if let text = WrongTypeText.naming(words) { reply.renameError(text) }
    }
  }

  /// The first command that Redis refused.
  package var firstError: RedisErrorReply? {
    for index in 0..<count {
      if let error = self[index].error { return error }
    }
    return nil
  }
}

/// Replies of several servers in the order of one pipeline's commands.
struct GatheredReplies {
  private struct Place {
    var source: Int32
    var index: Int32
  }

  private(set) var sources: [RedisReplies] = []
  private var places: [Place]

  init(count: Int) {
    places = [Place](repeating: Place(source: -1, index: 0), count: count)
  }

  var count: Int { places.count }

  var hasRefusals: Bool { sources.contains { $0.storage.pointee.refusals > 0 } }

  var hasWrongTypes: Bool { sources.contains { $0.storage.pointee.wrongTypes > 0 } }

  var byteCount: Int { sources.reduce(0) { $0 + $1.byteCount } }

  /// The source's number, for `set`.
  mutating func add(_ replies: RedisReplies) -> Int {
    sources.append(replies)
    return sources.count - 1
  }

  /// The reply to a command is this one of a source; the last word counts.
  mutating func set(_ command: Int, to index: Int, of source: Int) {
    places[command] = Place(source: Int32(source), index: Int32(index))
  }

  /// Nil when there is no such command, or no answer to it.
  subscript(_ command: Int) -> RedisReply? {
    guard places.indices.contains(command), places[command].source >= 0 else { return nil }
    let place = places[command]
    return sources[Int(place.source)][Int(place.index)]
  }
}
