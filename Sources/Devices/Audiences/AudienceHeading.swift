import Keyspace
import Redis
import Tokens

/// The hash of a streamer's followers as it stands, or as the first follow will make it: generation
/// 0, which no rewrite ever writes.
struct AudienceHeading {
  /// A rewrite under way: its generation and shards.
  struct Next {
    let generation: Int
    let shards: Int
  }

  let exists: Bool
  let shards: Int
  let generation: Int
  let next: Next?
  /// `shards`, `generation`, `next` as read, nothing for what is not there: what scripts compare
  /// with.
  let texts: [String]

  /// The fields, for a script that says whether they are still the same.
  var arguments: ScriptArguments {
    ["shards": texts[0], "generation": texts[1], "next": texts[2]]
  }

  init(_ reply: RedisReply, key: String) throws(DevicesError) {
    if let text = reply.errorText { throw DevicesError(reply: text) }
    let fields = (0..<3).map { reply[$0].text ?? "" }
    texts = fields
    exists = !fields[0].isEmpty || !fields[1].isEmpty
    guard let shards = exists ? Int(fields[0]) : 1, let generation = exists ? Int(fields[1]) : 0,
      Keyspace.isShardCount(shards), generation >= 0
    else {
      throw DevicesError(
        .badContent,
        "\(key) must have shards (a power of two up to \(Keyspace.maximumShards)) and generation "
          + "(a whole number): repair it with HSET, or DEL it and import the followers again")
    }
    self.shards = shards
    self.generation = generation
    next = Self.next(fields[2])
    guard next != nil || fields[2].isEmpty else {
      throw DevicesError(.badContent, "\(key) has a field next that nobody of us wrote: HDEL it")
    }
  }

  static func next(_ text: String) -> Next? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let generation = parts[0], let shards = parts[1], generation >= 0,
      Keyspace.isShardCount(shards)
    else { return nil }
    return Next(generation: generation, shards: shards)
  }

  /// The user's shard that fan-outs read now, or will when the first follow has made the hash; then
  /// the one of the coming generation, if there is one.
  func places(of user: String, following streamer: String, _ keyspace: Keyspace) -> [String] {
    func place(_ generation: Int, _ shards: Int) -> String {
      keyspace.followerShard(
        streamer: streamer, generation: generation,
        shard: Keyspace.shard(of: user, shards: shards))
    }
    return [place(generation, shards)] + (next.map { [place($0.generation, $0.shards)] } ?? [])
  }

  /// The shards that fan-outs read now; none for a streamer without.
  func shardKeys(of streamer: String, _ keyspace: Keyspace) -> [String] {
    guard exists else { return [] }
    return AudienceRewrite.keys(keyspace, streamer, generation: generation, shards: shards)
  }
}

extension Keyspace {
  /// The people on the list of a streamer or tag, in words.
  func people(of name: String) -> String {
    isOfTags ? "the users of the tag \(name)" : "the followers of \(name)"
  }
}

extension AudienceHeading {
  /// Throws when somebody follows already: what would take their place, and how to say so.
  func refuseToReplace(
    _ streamer: String, by others: String, _ redis: RedisClient, _ keyspace: Keyspace
  ) async throws(DevicesError) {
    let followers = try await redis.members(of: shardKeys(of: streamer, keyspace))
    guard followers > 0 else { return }
    throw DevicesError(
      .invalid,
      "\(streamer) has \(followers) followers in \(shards) shards (generation \(generation)), "
        + "which \(others) would replace: nothing was changed; --replace does it")
  }
}

extension RedisClient {
  func audienceHeading(
    of streamer: String, _ keyspace: Keyspace
  ) async throws(DevicesError) -> AudienceHeading {
    if let problem = AudienceFollows.problem(streamer: streamer) {
      throw DevicesError(.invalid, problem)
    }
    return try await audienceHeadings(of: [streamer], keyspace)[0]
  }

  /// - Parameter plainSet: where followers of a streamer without a heading may stand; then it is
  ///   refused.
  func audienceHeadings(
    of streamers: [String], _ keyspace: Keyspace, hiding plainSet: PlainSetPattern? = nil
  ) async throws(DevicesError) -> [AudienceHeading] {
    var headings: [AudienceHeading] = []
    for result in try await eachAudienceHeading(of: streamers, keyspace, hiding: plainSet) {
      headings.append(try result.get())
    }
    return headings
  }

  /// As above; a hash that holds something else is the failure of its streamer.
  func eachAudienceHeading(
    of streamers: [String], _ keyspace: Keyspace, hiding plainSet: PlainSetPattern? = nil
  ) async throws(DevicesError) -> [Result<AudienceHeading, DevicesError>] {
    let keys = streamers.map { keyspace.followers(of: $0) }
    let replies = try await replies(
      to: keys.map { ["HMGET", $0, "shards", "generation", "next"] })
    var headings: [Result<AudienceHeading, DevicesError>] = []
    var new: [String] = []
    for (index, key) in keys.enumerated() {
      do throws(DevicesError) {
        let heading = try AudienceHeading(replies[index], key: key)
        headings.append(.success(heading))
        if !heading.exists { new.append(streamers[index]) }
      } catch {
        guard error.isOfContent else { throw error }
        headings.append(.failure(error))
      }
    }
    try await plainSet?.refuse(new, self)
    return headings
  }

  func replies(to commands: [[String]]) async throws(DevicesError) -> RedisReplies {
    let pipeline = RedisPipeline(capacity: commands.count > 100 ? 1 << 18 : 4096)
    for command in commands { pipeline.append(command) }
    return try await replies(to: pipeline)
  }

  /// The replies to commands, in one round trip. A key of another type is passed over; any other
  /// error is thrown.
  func answers(to commands: [[String]]) async throws(DevicesError) -> RedisReplies {
    let replies = try await self.replies(to: commands)
    for index in 0..<replies.count {
      if let error = replies[index].error, error.kind != .wrongType {
        throw DevicesError(reply: error.message)
      }
    }
    return replies
  }

  func replies(to pipeline: RedisPipeline) async throws(DevicesError) -> RedisReplies {
    do {
      return try await execute(pipeline)
    } catch {
      throw DevicesError(error)
    }
  }

  /// How many members these sets have together.
  func members(of keys: [String]) async throws(DevicesError) -> Int {
    guard !keys.isEmpty else { return 0 }
    let pipeline = RedisPipeline()
    for key in keys { pipeline.append(["SCARD", key]) }
    let replies = try await replies(to: pipeline)
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    return (0..<keys.count).reduce(0) { $0 + Int(replies[$1].integer ?? 0) }
  }

  /// The script's reply; an error reply is thrown.
  func reply(
    to script: RedisScript, keys: [String], arguments: ScriptArguments = [:], list: [String] = []
  ) async throws(DevicesError) -> RedisReply {
    try await checked(script, [ScriptCall(keys: keys, arguments: arguments, list: list)])[0]
  }

  /// Runs a script once for each call, in one round trip; an error of any is thrown.
  func checked(
    _ script: RedisScript, _ calls: [ScriptCall]
  ) async throws(DevicesError) -> RedisReplies {
    do {
      return try await answers(of: script, calls)
    } catch {
      throw DevicesError(error)
    }
  }
}
