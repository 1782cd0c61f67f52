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
