import Keyspace
import Model
import Redis

/// User ids of a segment, as they came in one reply.
struct FollowerBatch {
  private(set) var bytes: ByteArena
  private(set) var users: [ByteSlice] = []
  /// Members that cannot be user ids.
  private(set) var skipped = 0

  /// Of stragglers: each user once, however many of the pushes are theirs.
  init(_ list: StragglerList) {
    bytes = ByteArena(capacity: 32 * list.pushes.count)
    var seen: Set<[UInt8]> = []
    for push in list.pushes {
      let user = Array(push.user.utf8)
      if seen.insert(user).inserted { users.append(bytes.append(user)) }
    }
  }

  /// Those that an event names.
  init(_ named: [String]) {
    bytes = ByteArena(capacity: 32 * named.count)
    for user in named { users.append(bytes.append(Array(user.utf8))) }
  }

  /// The first so many of these; the others stay.
  mutating func takeFirst(_ count: Int) -> FollowerBatch {
    var first = self
    first.users = Array(users.prefix(count))
    first.skipped = skipped
    users.removeFirst(first.users.count)
    skipped = 0
    return first
  }

  /// Keeps whoever passes.
  mutating func keep(_ passes: (_ index: Int, _ user: UnsafeRawBufferPointer) -> Bool) {
    users = users.indices.filter { passes($0, bytes[users[$0]]) }.map { users[$0] }
  }

  /// - Parameters:
  ///   - seen: takes those that come now; who is in it has come before.
  ///   - shard: whoever belongs to another shard is left out.
  /// - Returns: nil when the members are not all strings.
  init?(_ members: RedisReply, seen: SeenUsers?, only shard: (index: Int, count: Int)?) {
    bytes = ByteArena(capacity: 16 * members.count)
    users.reserveCapacity(members.count)
    var areStrings = true
    members.forEachElement { _, kind, user in
      guard kind == .string else {
        areStrings = false
        return
      }
      // Users of other segments are neither remembered nor counted.
      if let shard, Keyspace.shard(of: user, shards: shard.count) != shard.index { return }
      guard seen?.insert(user) != false else { return }
      guard Keyspace.isIdentifier(user) else {
        skipped += 1
        return
      }
      users.append(bytes.append(user))
    }
    guard areStrings else { return nil }
  }
}
