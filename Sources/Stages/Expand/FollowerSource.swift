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
/// are read there: nobody is lost. Who has come before is passed over when reading begins again.
package final class FollowerSource {
  private enum Reading {
    /// The heading calls the only shard small: so many are asked for at once, in place of its size.
    case guessed(members: Int)
    /// The size of the key is not known yet.
    case unknown
    case whole
    /// `run` is the id of the server's run that gave the cursor: another run would take it and
    /// skip members.
    case scan(cursor: String, run: String?)
    /// The segment names its users itself.
    case listed(StragglerList)
    /// Scanned to its end; left is a look whether the followers were resharded meanwhile.
    case scanned
  }

  private let redis: RedisClient
  private let keyspace: Keyspace
  let segment: Segment
  private let options: ExpandOptions
  private var keys: [String]
  private var position = 0
  private var reading: Reading
  /// The generation being read; nil for a plain set.
  private var generation: Int?
  /// Asked of each scan; halved when that is too much.
  private var scanCount: Int
  /// Kept from the first scan on: what is read in one reply cannot begin again.
  private var seen: SeenUsers?
  /// How often reading began again, because Redis was restarted under a scan or the followers were
  /// resharded.
  private(set) var restarts = 0
  /// What `readAhead` has read.
  private var ahead: FollowerBatch?

  /// - Parameter followers: of the streamer, as the heading says; nil when it was not read.
  init(
    redis: RedisClient, keyspace: Keyspace, segment: Segment, followers: Int?,
    options: ExpandOptions
  ) {
    self.redis = redis
    self.keyspace = keyspace
    self.segment = segment
    self.options = options
    scanCount = options.pageSize
    switch segment.slice {
    case .shard(let index, let generation):
      self.generation = generation
      reading = Self.guess(followers ?? 0, options).map { .guessed(members: $0) } ?? .unknown
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

  /// Whether `readAhead` asks for members, not only for how many there are.
  package var beginsWithMembers: Bool {
    switch reading {
    case .guessed, .scan: true
    case .unknown, .whole, .listed, .scanned: false
    }
  }

  /// Asks Redis what reading begins with, while the caller asks for the right to do so: one round
  /// trip less. Not to be called again, nor while `nextBatch` runs. What fails is asked for again
  /// by `nextBatch`; what nobody reads then is thrown away.
  package func readAhead() async {
    do throws(ExpandError) {
      switch reading {
      case .unknown: try await askForSize(keys[position])
      case .guessed, .scan: ahead = try await nextBatch()
      case .whole, .listed, .scanned: break
      }
    } catch {
      ahead = nil
    }
  }

  /// Nothing more is read: frees what is remembered, which may be 2 MiB, while the segment goes on.
  package func finish() {
    position = keys.count
    ahead = nil
    seen = nil
  }

  /// Whether anything is kept of who was read.
  var remembers: Bool { ahead != nil || seen != nil }

  /// The next ids, perhaps none; nil when all are read.
  func nextBatch() async throws(ExpandError) -> FollowerBatch? {
    if let batch = ahead {
      ahead = nil
      return batch
    }
    while position < keys.count {
      let key = keys[position]
      switch reading {
      case .guessed(let members):
        if let batch = try await readGuessed(key, members) { return batch }
      case .unknown: try await askForSize(key)
      case .whole: if let batch = try await readWhole(key) { return batch }
      case .scan(let cursor, let run):
        if let batch = try await scan(key, cursor, run) { return batch }
      case .listed(let list):
        advance()
        return Self.batch(list)
      case .scanned: if try await !follow() { advance() }
      }
    }
    finish()
    return nil
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

  /// How many members are asked for in place of the size of a shard that holds `followers` by its
  /// heading: some more, since followers come and go; nil when so many might not fit into a reply.
  private static func guess(_ followers: Int, _ options: ExpandOptions) -> Int? {
    let bytes = Keyspace.maximumIdentifierBytes + replyBytesAMember
    let maximum = min(options.maximumShardMembers, options.maximumPageBytes / bytes)
    guard followers > 0, followers <= maximum else { return nil }
    return min(followers + followers / 4 + 64, maximum)
  }

  /// `$128`, and the ends of two lines.
  private static let replyBytesAMember = 8

  /// The shard when it holds no more than its heading says; nil when it must be read in another
  /// way. A scan that comes to its end in its first reply has given each member once: nothing
  /// changes within a command. A heading that is far too low costs this one reply, which is no
  /// larger than what was asked for.
  private func readGuessed(
    _ key: String, _ members: Int
  ) async throws(ExpandError) -> FollowerBatch? {
    let replies: RedisReplies
    do {
      replies = try await redis.execute(
        RedisPipeline(["SSCAN", key, "0", "COUNT", String(members)]),
        maximumReplyBytes: options.maximumPageBytes)
    } catch {
      reading = .unknown
      // Only members that cannot be users take so much.
      guard error.code == .replyTooLarge else { throw ExpandError(error) }
      return nil
    }
    // What is not as it should be is told of by the commands that come then.
    reading = .unknown
    guard replies[0].kind == .array, replies[0].count == 2, replies[0][0].text == "0",
      replies[0][1].kind == .array
    else { return nil }
    return try await whole(replies[0][1], from: "SSCAN", key)
  }

  private func askForSize(_ key: String) async throws(ExpandError) {
    let replies = try await redis.replies(
      to: RedisPipeline(["SCARD", key]), maximumBytes: options.maximumPageBytes)
    if let error = replies[0].error {
      throw ExpandError(reply: error, to: "SCARD", key: key, wanted: "set")
    }
    guard let count = replies[0].integer else {
      throw ExpandError.unexpected(replies[0], to: "SCARD", key: key)
    }
    let isLarge = count > Int64(options.maximumShardMembers)
    reading = isLarge ? .scan(cursor: "0", run: nil) : .whole
  }

  /// Nil when it must be read in another way.
  private func readWhole(_ key: String) async throws(ExpandError) -> FollowerBatch? {
    let replies: RedisReplies
    do {
      replies = try await redis.execute(
        RedisPipeline(["SMEMBERS", key]), maximumReplyBytes: options.maximumPageBytes)
    } catch {
      // Not in one piece then.
      guard error.code == .replyTooLarge || error.code == .timeout else { throw ExpandError(error) }
      reading = .scan(cursor: "0", run: nil)
      if error.code == .timeout { throw ExpandError(error) }
      return nil
    }
    let members = try replies[0].array(from: "SMEMBERS", key: key, wanted: "set")
    return try await whole(members, from: "SMEMBERS", key)
  }

  /// All members of a key, which is done then.
  private func whole(
    _ members: RedisReply, from command: String, _ key: String
  ) async throws(ExpandError) -> FollowerBatch {
    let batch = try batch(members, from: command, key)
    if members.count == 0, try await follow() { return batch }
    advance()
    return batch
  }

  /// Nil when it must be asked again.
  private func scan(
    _ key: String, _ cursor: String, _ run: String?
  ) async throws(ExpandError) -> FollowerBatch? {
    let replies: RedisReplies
    do {
      replies = try await redis.execute(
        RedisPipeline(["SSCAN", key, cursor, "COUNT", String(scanCount)], ["INFO", "server"]),
        maximumReplyBytes: options.maximumPageBytes)
    } catch {
      try askForLess(error, key)
      return nil
    }
    let scanned = try replies[0].array(from: "SSCAN", key: key, wanted: "set")
    // Where INFO is forbidden there is no telling; the operator's documentation says so.
    let answering = RedisRole.runIdentifier(replies[1])
    if cursor != "0", run != answering {
      restarts += 1
      reading = .scan(cursor: "0", run: nil)
      return nil
    }
    guard scanned.count == 2, let next = scanned[0].text else {
      throw ExpandError.unexpected(scanned, to: "SSCAN", key: key)
    }
    if seen == nil { seen = SeenUsers(maximum: options.maximumRememberedUsers) }
    let members = try scanned[1].array(from: "SSCAN", key: key, wanted: "set")
    let batch = try batch(members, from: "SSCAN", key)
    if next != "0" {
      reading = .scan(cursor: next, run: answering)
    } else if generation == nil {
      advance()
    } else {
      reading = .scanned
    }
    return batch
  }

  /// After a piece of a scan that was too large or too slow. Throws what asking for less does not
  /// mend.
  private func askForLess(_ error: RedisError, _ key: String) throws(ExpandError) {
    guard error.code == .replyTooLarge || error.code == .timeout else { throw ExpandError(error) }
    guard scanCount > 1 || error.code == .timeout else {
      throw ExpandError(
        .badContent,
        "\(key) holds members of more than \(options.maximumPageBytes) bytes, which are no users: "
          + "SREM them", cause: error.description)
    }
    scanCount = max(1, scanCount / 2)
    if error.code == .timeout { throw ExpandError(error) }
  }

  private func advance() {
    position += 1
    reading = generation == nil ? .scan(cursor: "0", run: nil) : .unknown
  }

  /// Turns to the current generation when that is not the one being read.
  private func follow() async throws(ExpandError) -> Bool {
    let streamer = segment.event.streamer
    let headingKey = keyspace.followers(of: streamer)
    let replies = try await FollowerHeading.replies(
      to: RedisPipeline(["HMGET", headingKey] + FollowerHeading.fields), key: headingKey,
      from: redis)
    let current = try FollowerHeading.read(replies[0], key: headingKey)
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

  private func batch(
    _ members: RedisReply, from command: String, _ key: String
  ) throws(ExpandError) -> FollowerBatch {
    var batch = FollowerBatch(bytes: ByteArena(capacity: 16 * members.count), users: [])
    batch.users.reserveCapacity(members.count)
    let shard = foreignShard
    let seen = seen
    var areStrings = true
    members.forEachElement { _, kind, user in
      guard kind == .string else {
        areStrings = false
        return
      }
      guard seen?.insert(user) != false else { return }
      guard Keyspace.isIdentifier(user) else {
        batch.skipped += 1
        return
      }
      if let shard, Keyspace.shard(of: user, shards: shard.count) != shard.index { return }
      batch.users.append(batch.bytes.append(user))
    }
    guard areStrings else { throw ExpandError.unexpected(members, to: command, key: key) }
    return batch
  }

  /// Which users are this segment's, when another generation than its own is read.
  private var foreignShard: (index: Int, count: Int)? {
    guard case .shard(let index, let own) = segment.slice, own != generation else { return nil }
    return (index, segment.count)
  }
}
