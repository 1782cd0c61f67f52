/// Replies put together of pieces of others, as if one pipeline had been answered so.
package struct ReplyComposition {
  private var gathered: GatheredReplies

  /// - Parameter count: commands of the pipeline that there seems to have been.
  package init(count: Int) { gathered = GatheredReplies(count: count) }

  /// The reply to a command is this one, which may be an element of another.
  package mutating func set(_ command: Int, to reply: RedisReply) {
    gathered.set(command, to: reply)
  }

  /// What a command has no reply of is null.
  package consuming func replies() -> RedisReplies { RedisReplies(gathered) }
}

extension RedisReply {
  /// An array whose elements are pieces of this string, without a copy: `piece` says where each
  /// begins and how long it is, nil for a null. It counts as a part of the replies that this is of;
  /// nil when they would take more than they may, or this is no string.
  @inline(__always)
  package func array(count: Int, _ piece: (Int) -> Range<Int>?) -> RedisReply? {
    guard let bytes, let first = replies.storage.pointee.appendElements(count + 1) else {
      return nil
    }
    let nodes = replies.storage.pointee.nodes
    let start = replies.storage.pointee.nodes[index].value
    nodes[first] = ReplyNode(value: Int64(first + 1), count: Int32(count), kind: .array)
    for position in 0..<count {
      guard let range = piece(position), range.lowerBound >= 0, range.upperBound <= bytes.count
      else { continue }
      nodes[first + 1 + position] = ReplyNode(
        value: start + Int64(range.lowerBound), count: Int32(range.count), kind: .string)
    }
    return RedisReply(replies: replies, index: first)
  }

  /// An array of some elements of this one, without a copy; nil as above.
  package func array(selecting positions: [Int]) -> RedisReply? {
    guard kind == .array,
      let first = replies.storage.pointee.appendElements(positions.count + 1)
    else { return nil }
    let nodes = replies.storage.pointee.nodes
    let own = nodes[index]
    nodes[first] = ReplyNode(
      value: Int64(first + 1), count: Int32(positions.count), kind: .array)
    for (place, position) in positions.enumerated()
    where position >= 0 && position < Int(own.count) {
      nodes[first + 1 + place] = nodes[Int(own.value) + position]
    }
    return RedisReply(replies: replies, index: first)
  }
}
