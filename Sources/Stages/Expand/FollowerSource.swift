import Keyspace
import Model
import Redis

/// The users of one list: all of a segment's, or those of them who are in a streamer's followers or
/// have a tag. Each call of `nextBatch` that throws can be repeated: what it had not got is asked
/// for again, what had come is not.
///
/// When the list is resharded while a segment waits, its shard is gone: the same users are read in
/// the new generation, and nobody is lost. Users who came before are passed over when reading
/// begins again.
final class FollowerSource {
  private enum Reading {
    /// The heading calls the only shard small: so many are asked for at once, in place of its size.
    case guessed(members: Int)
    /// The size of the key is not known yet.
    case unknown
    case whole
    /// `run` is the id of the server's run that gave the cursor: another run would take it and
    /// skip members.
    case scan(cursor: String, run: String?)
    /// Scanned to its end; left is a look whether the followers were resharded meanwhile.
    case scanned
  }

  private let redis: RedisClient
  /// Nothing of usual size waits behind its replies.
  private let isBulk: Bool
  private let options: ExpandOptions
  private var keys: FollowerKeys
  private var reading: Reading
  /// Asked of each scan; halved when that is too much.
  private var scanCount: Int
  /// Kept from the first scan on: what is read in one reply cannot begin again.
  private var seen: SeenUsers?
  /// How often reading began again, because Redis was restarted under a scan or the followers were
  /// resharded.
  private(set) var restarts = 0
  /// The batch of `readAhead`.
  private var ahead: FollowerBatch?

  /// - Parameter followers: as the heading of a shard says; nil when it was not read.
  init(
    redis: RedisClient, keys: FollowerKeys, followers: Int? = nil, isBulk: Bool,
    options: ExpandOptions
  ) {
    self.redis = redis
    self.keys = keys
    self.isBulk = isBulk
    self.options = options
    scanCount = options.pageSize
    reading =
      keys.generation == nil
      ? .scan(cursor: "0", run: nil)
      : Self.guess(followers ?? 0, options).map { .guessed(members: $0) } ?? .unknown
  }

  /// Whether `readAhead` asks for members, not only for how many there are.
  var beginsWithMembers: Bool {
    switch reading {
    case .guessed, .scan: true
    case .unknown, .whole, .scanned: false
    }
  }

  /// Asks Redis what reading begins with, while the caller asks for the right to do so: one round
  /// trip less. Not to be called again, nor while `nextBatch` runs. `nextBatch` asks again for a
  /// failed batch; a batch that nobody reads then is thrown away.
  func readAhead() async {
    guard let key = keys.current else { return }
    do throws(ExpandError) {
      switch reading {
      case .unknown: try await askForSize(key)
      case .guessed, .scan: ahead = try await nextBatch()
      case .whole, .scanned: break
      }
    } catch {
      ahead = nil
    }
  }

  /// Nothing more is read: frees what is remembered, which may be 2 MiB, while the segment goes on.
  func finish() {
    keys.end()
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
    while let key = keys.current {
      switch reading {
      case .guessed(let members):
        if let batch = try await readGuessed(key, members) { return batch }
      case .unknown: try await askForSize(key)
      case .whole: if let batch = try await readWhole(key) { return batch }
      case .scan(let cursor, let run):
        if let batch = try await scan(key, cursor, run) { return batch }
      case .scanned: if try await !follow() { advance() }
      }
    }
    finish()
    return nil
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
        maximumReplyBytes: options.maximumPageBytes,
        isBulk: isBulk)
    } catch {
      reading = .unknown
      // Only members that cannot be users take so much.
      guard error.code == .replyTooLarge else { throw ExpandError(error) }
      return nil
    }
    // The next commands report a key that is not as it should be.
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
        RedisPipeline(["SMEMBERS", key]), maximumReplyBytes: options.maximumPageBytes,
        isBulk: isBulk)
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
        maximumReplyBytes: options.maximumPageBytes,
        isBulk: isBulk && cursor != "0")
    } catch {
      try askForLess(error, key)
      return nil
    }
    let scanned = try replies[0].array(from: "SSCAN", key: key, wanted: "set")
    // Where INFO is forbidden nobody can say; the operator's documentation says so.
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
    } else if keys.generation == nil {
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
    keys.advance()
    reading = keys.generation == nil ? .scan(cursor: "0", run: nil) : .unknown
  }

  /// Turns to the current generation when that is not the one being read.
  private func follow() async throws(ExpandError) -> Bool {
    let headingKey = keys.headingKey
    let replies = try await FollowerHeading.replies(
      to: RedisPipeline(["HMGET", headingKey] + FollowerHeading.fields), keys: [headingKey],
      from: redis)
    guard let current = try FollowerHeading.read(replies[0], key: headingKey),
      keys.follow(current)
    else { return false }
    reading = .unknown
    restarts += 1
    return true
  }

  private func batch(
    _ members: RedisReply, from command: String, _ key: String
  ) throws(ExpandError) -> FollowerBatch {
    guard let batch = FollowerBatch(members, seen: seen, only: keys.foreignShard)
    else { throw ExpandError.unexpected(members, to: command, key: key) }
    return batch
  }
}
