import Keyspace
import Model
import Redis

/// User ids of a segment, as they came in one reply.
struct FollowerBatch {
  let bytes: ByteArena
  var users: [ByteSlice]
  /// Members that cannot be user ids.
  var skipped = 0
}

/// Where the user ids of a segment come from. Each call of `nextBatch` that throws can be
/// repeated: what it had not got is asked for again, what had come is not.
///
/// When the followers are resharded while a segment waits, its shard is gone. Shards are powers of
/// two and a user's shard is a remainder, so the same users can be told in the new generation, and
/// are read there: nobody is lost, somebody may be read twice (harmless: the collapse id makes one
/// push of two).
final class FollowerSource {
  private enum Reading {
    /// The size of the key is not known yet.
    case unknown
    case whole
    /// `run` is the id of the server's run that gave the cursor: another run would take it and
    /// skip members.
    case scan(cursor: String, run: String?)
    /// The segment names its users itself.
    case listed(StragglerList)
  }

  private let redis: RedisClient
  private let keyspace: Keyspace
  private let segment: Segment
  private let options: ExpandOptions
  private var keys: [String]
  private var position = 0
  private var reading: Reading
  /// The generation being read; nil for a plain set.
  private var generation: Int?
  /// How often reading began anew, because Redis was restarted under a scan or the followers were
  /// resharded.
  private(set) var restarts = 0

  init(redis: RedisClient, keyspace: Keyspace, segment: Segment, options: ExpandOptions) {
    self.redis = redis
    self.keyspace = keyspace
    self.segment = segment
    self.options = options
    switch segment.slice {
    case .shard(let index, let generation):
      self.generation = generation
      reading = .unknown
      keys = [
        keyspace.followerShard(
          streamer: segment.event.streamer, generation: generation, shard: index)
      ]
    case .plain(let key):
      reading = .scan(cursor: "0", run: nil)
      keys = [key]
    case .stragglers(let list):
      reading = .listed(list)
      keys = [list.id]
    }
  }

  /// The next ids, perhaps none; nil when all are read.
  func nextBatch() async throws(ExpandError) -> FollowerBatch? {
    guard position < keys.count else { return nil }
    let key = keys[position]
    switch reading {
    case .unknown:
      reading = try await isLarge(key) ? .scan(cursor: "0", run: nil) : .whole
      return FollowerBatch(bytes: ByteArena(capacity: 0), users: [])
    case .whole: return try await readWhole(key)
    case .scan(let cursor, let run): return try await scan(key, cursor, run)
    case .listed(let list):
      advance()
      return Self.batch(list)
    }
  }

  /// Each user once, however many of the pushes are theirs.
  private static func batch(_ list: StragglerList) -> FollowerBatch {
    var batch = FollowerBatch(bytes: ByteArena(capacity: 32 * list.pushes.count), users: [])
    var seen: Set<[UInt8]> = []
    for push in list.pushes {
      let user = Array(push.user.utf8)
      if seen.insert(user).inserted { batch.users.append(batch.bytes.append(user)) }
    }
    return batch
  }

  private func isLarge(_ key: String) async throws(ExpandError) -> Bool {
    let replies = try await redis.replies(to: RedisPipeline(["SCARD", key]))
    if let error = replies[0].error { throw ExpandError(reply: error, key: key, wanted: "set") }
    return (replies[0].integer ?? 0) > Int64(options.maximumShardMembers)
  }

  private func readWhole(_ key: String) async throws(ExpandError) -> FollowerBatch {
    let replies = try await redis.replies(to: RedisPipeline(["SMEMBERS", key], headingCommand))
    if let error = replies[0].error { throw ExpandError(reply: error, key: key, wanted: "set") }
    let batch = batch(replies[0])
    if replies[0].count == 0, try follow(replies[1]) { return batch }
    advance()
    return batch
  }

  private func scan(
    _ key: String, _ cursor: String, _ run: String?
  ) async throws(ExpandError) -> FollowerBatch {
    let pipeline = RedisPipeline(
      ["SSCAN", key, cursor, "COUNT", String(options.pageSize)], ["INFO", "server"])
    if generation != nil { pipeline.append(headingCommand) }
    let replies = try await redis.replies(to: pipeline)
    if let error = replies[0].error { throw ExpandError(reply: error, key: key, wanted: "set") }
    // Where INFO is forbidden there is no telling; the operator's documentation says so.
    let answering = Self.runIdentifier(replies[1])
    if cursor != "0", run != answering {
      restarts += 1
      reading = .scan(cursor: "0", run: nil)
      return FollowerBatch(bytes: ByteArena(capacity: 0), users: [])
    }
    guard let next = replies[0][0].text else {
      throw ExpandError(.unexpected, "SSCAN \(key) answered no cursor")
    }
    let batch = batch(replies[0][1])
    if next != "0" {
      reading = .scan(cursor: next, run: answering)
    } else if generation == nil {
      advance()
    } else if try !follow(replies[2]) {
      advance()
    }
    return batch
  }

  private func advance() {
    position += 1
    reading = generation == nil ? .scan(cursor: "0", run: nil) : .unknown
  }

  private var headingCommand: [String] {
    ["HMGET", keyspace.followers(of: segment.event.streamer)] + FollowerHeading.fields
  }

  /// Turns to the current generation when that is not the one being read.
  private func follow(_ heading: RedisReply) throws(ExpandError) -> Bool {
    let streamer = segment.event.streamer
    let current = try FollowerHeading.read(heading, key: keyspace.followers(of: streamer))
    guard let current, current.generation != generation,
      case .shard(let index, _) = segment.slice
    else { return false }
    let count = max(1, segment.count)
    let shards: [Int]
    if current.shards % count == 0 {
      shards = Array(stride(from: index, to: current.shards, by: count))
    } else if count % current.shards == 0 {
      shards = [index % current.shards]
    } else {
      shards = Array(0..<current.shards)
    }
    generation = current.generation
    keys = shards.map {
      keyspace.followerShard(streamer: streamer, generation: current.generation, shard: $0)
    }
    position = 0
    reading = .unknown
    restarts += 1
    return true
  }

  private func batch(_ members: RedisReply) -> FollowerBatch {
    var batch = FollowerBatch(bytes: ByteArena(capacity: 16 * members.count), users: [])
    batch.users.reserveCapacity(members.count)
    let shard = foreignShard
    members.forEachElement { _, _, user in
      guard Keyspace.isIdentifier(user) else {
        batch.skipped += 1
        return
      }
      if let shard, Keyspace.shard(of: user, shards: shard.count) != shard.index { return }
      batch.users.append(batch.bytes.append(user))
    }
    return batch
  }

  /// Which users are this segment's, when another generation than its own is read.
  private var foreignShard: (index: Int, count: Int)? {
    guard case .shard(let index, let own) = segment.slice, own != generation else { return nil }
    return (index, segment.count)
  }

  static func runIdentifier(_ reply: RedisReply) -> String? {
    guard let text = reply.text else { return nil }
    return text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("run_id:") }.map {
      String($0.dropFirst("run_id:".count))
    }
  }
}
