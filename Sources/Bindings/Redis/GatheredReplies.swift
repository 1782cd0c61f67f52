/// Replies of several nodes in the order of one pipeline's commands, or whatever else is put
/// together as if one pipeline had been answered so.
package struct GatheredReplies {
  private struct Place {
    var source: Int32
    var index: Int32
  }

  private(set) var sources: [RedisReplies] = []
  private var places: [Place]

  package init(count: Int) {
    places = [Place](repeating: Place(source: -1, index: 0), count: count)
  }

  var count: Int { places.count }

  var hasRefusals: Bool { sources.contains { $0.storage.pointee.refusals > 0 } }

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

  /// As above, with a reply that may be an element of another. There are a few sources for each
  /// node.
  package mutating func set(_ command: Int, to reply: RedisReply) {
    let source: Int
    if sources.last === reply.replies {
      source = sources.count - 1
    } else if let known = sources.firstIndex(where: { $0 === reply.replies }) {
      source = known
    } else {
      source = add(reply.replies)
    }
    places[command] = Place(source: Int32(source), index: Int32(reply.index))
  }

  /// Nil when there is no such command, or no answer to it.
  subscript(_ command: Int) -> RedisReply? {
    guard places.indices.contains(command), places[command].source >= 0 else { return nil }
    let place = places[command]
    return sources[Int(place.source)].reply(at: Int(place.index))
  }
}
