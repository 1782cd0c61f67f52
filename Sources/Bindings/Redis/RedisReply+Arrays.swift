/// Arrays that Redis has not answered, made of what it has. They count as a part of those replies
/// and are nil where they would take more than these may. Making one moves nodes: not inside of
/// `forEachElement`.
extension RedisReply {
  /// Elements that are pieces of this string, without a copy: `piece` says where each begins and
  /// ends, nil for a null. Nil where this is no string.
  @inline(__always)
  package func array(count: Int, _ piece: (Int) -> Range<Int>?) -> RedisReply? {
    guard let bytes, let (array, first) = appendArray(count) else { return nil }
    let nodes = replies.storage.pointee.nodes
    let start = nodes[index].value
    for position in 0..<count {
      guard let range = piece(position), range.lowerBound >= 0, range.upperBound <= bytes.count
      else { continue }
      nodes[first + position] = ReplyNode(
        value: start + Int64(range.lowerBound), count: Int32(range.count), kind: .string)
    }
    return array
  }

  /// Some elements of this array; null for one that is not there. Nil where this is no array.
  package func array(selecting positions: [Int]) -> RedisReply? {
    guard kind == .array, let (array, first) = appendArray(positions.count) else { return nil }
    let nodes = replies.storage.pointee.nodes
    let own = nodes[index]
    for (place, position) in positions.enumerated()
    where position >= 0 && position < Int(own.count) {
      nodes[first + place] = nodes[Int(own.value) + position]
    }
    return array
  }

  /// Nulls, and where they begin.
  @inline(__always)
  private func appendArray(_ count: Int) -> (RedisReply, Int)? {
    guard let place = replies.storage.pointee.appendElements(count + 1) else { return nil }
    replies.storage.pointee.nodes[place] = ReplyNode(
      value: Int64(place + 1), count: Int32(count), kind: .array)
    return (RedisReply(replies: replies, index: place), place + 1)
  }
}
