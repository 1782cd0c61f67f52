import Keyspace
import Model
import Redis
import Text
import Tokens

/// Forgets a user: takes everything out of Redis that names the user. Confined to the loop of its
/// Redis client.
///
/// Its steps may be repeated. After a crash between two of them, another run finds what is left:
///
/// 1. The user's own keys go in one step. From here on no push reaches the user. Only the names of
///    the devices stay, in `bound`. Of more devices than we write, most go page by page before.
/// 2. The tokens get free, as with a logout. Then the names of the devices go.
/// 3. The user leaves the streamers that are named, and with `looksEverywhere` every streamer and
///    every tag there is: Redis knows of each who is in it, and of nobody what they are in. It also
///    takes out what became of the user's pushes, which otherwise ends seven days after the last of
///    them.
/// 4. With `erasesAudience` so do the followers of the streamer who has the user's id.
///
/// Keys that expire stay until then: the names of freed tokens, for ten minutes, so that a step of
/// a bind that comes late changes nothing. Data in Kafka, in logs or at Apple is not in Redis.
/// A client that binds, follows or writes for the user meanwhile makes a new user.
package struct UserErasure {
  package struct Scope: Sendable, Hashable {
    /// Streamers whom the user is known to follow.
    package var streamers: [String] = []
    /// Looks at all streamers, tags and tokens (SCAN): harms nobody, and takes its time.
    package var looksEverywhere = false
    /// Whether the followers of the streamer of this id go too. Ids of users and of streamers may
    /// be other people's.
    package var erasesAudience = false
    /// False where the user's own keys were erased before: what is in them since is a new user's.
    package var erasesOwn = true

    package init() {}
  }

  private let redis: RedisClient
  private let keyspace: Keyspace
  private let tokens: TokenMoves

  /// Tokens that are freed, and streamers that are left, in one pipeline.
  private static let perPage = 500

  package init(redis: RedisClient, keyspace: Keyspace) {
    self.redis = redis
    self.keyspace = keyspace
    tokens = TokenMoves(redis: redis, keyspace: keyspace)
  }

  /// - Parameters:
  ///   - writes: without it, it is only told what would go.
  ///   - told: gets what has gone so far, and whether to go on is its answer.
  package func run(
    _ user: String, _ scope: Scope = Scope(), writes: Bool,
    told: (ErasureCounts) -> Bool = { _ in true }
  ) async throws(DevicesError) -> ErasureCounts {
    try DeviceRegistry.check(user)
    for streamer in scope.streamers {
      if let problem = AudienceFollows.problem(streamer: streamer) {
        throw DevicesError(.invalid, problem)
      }
    }
    var counts = ErasureCounts()
    var own: Set<ExactText>? = []
    if scope.erasesOwn {
      if writes {
        try await eraseOwn(user, &counts)
      } else {
        own = try await foreseeKeys(of: user, &counts)
      }
    }
    try await leave(scope.streamers, keyspace, \.follows, user, writes, &counts)
    if scope.looksEverywhere {
      counts.isComplete = try await lookEverywhere(
        user, scope.streamers, writes, own: own, &counts, told)
    }
    try await AudienceErasure(redis: redis, keyspace: keyspace)
      .run(user, erases: scope.erasesAudience && writes, &counts)
    return counts
  }

  /// Whether the user has so many devices that forgetting them may take longer than a client waits.
  package func isLarge(_ user: String) async throws(DevicesError) -> Bool {
    try await large.isLarge(user)
  }

  private var large: LargeUserErasure {
    LargeUserErasure(redis: redis, keyspace: keyspace, tokens: tokens)
  }

  /// Others may bind devices while it works: so often it begins again.
  private static let maximumTries = 16

  private func eraseOwn(
    _ user: String, _ counts: inout ErasureCounts
  ) async throws(DevicesError) {
    for _ in 0..<Self.maximumTries {
      if try await eraseKeys(of: user, &counts) { return }
      try await large.run(user, &counts)
    }
    throw DevicesError(.conflict, "others bind devices to the user faster than these can go")
  }
}

// MARK: - The user's own keys

extension UserErasure {
  /// Returns false when there were too many devices for one step, and nothing is changed.
  private func eraseKeys(
    of user: String, _ counts: inout ErasureCounts
  ) async throws(DevicesError) -> Bool {
    let answer = try await redis.reply(
      to: ErasureScripts.erase, keys: keyspace.forgottenKeys(user: user),
      arguments: ["maximum_devices": String(LargeUserErasure.maximumAtOnce)])
    guard answer.count > 0 else { return false }
    let numbers = (0..<5).map { Int(answer[$0].integer ?? 0) }
    counts.devices += numbers[0]
    counts.setAside += numbers[1]
    (counts.profileFields, counts.reached, counts.verdicts) = (numbers[2], numbers[3], numbers[4])
    let members = (5..<max(5, answer.count)).compactMap { answer[$0].text }
    for start in stride(from: 0, to: members.count, by: Self.perPage) {
      let page = Array(members[start..<min(start + Self.perPage, members.count)])
      // A token may be of several topics.
      var seen: Set<ExactText> = []
      let bindings = page.compactMap { Binding(member: $0) }
      try await free(bindings.map(\.token).filter { seen.insert(ExactText($0)).inserted }, user)
      counts.tokens += seen.count
      _ = try await redis.reply(
        to: ErasureScripts.finish, keys: Array(keyspace.deviceKeys(user: user).prefix(2)),
        list: page)
    }
    return true
  }

  /// Returns the tokens of the user's devices; nil when there are too many to look at.
  private func foreseeKeys(
    of user: String, _ counts: inout ErasureCounts
  ) async throws(DevicesError) -> Set<ExactText>? {
    let keys = keyspace.forgottenKeys(user: user)
    let lengths = ["SCARD", "HLEN", "HLEN", "HLEN", "ZCARD", "HLEN", "EXISTS"]
    let replies = try await redis.answers(to: zip(lengths, keys).map { [$0, $1] })
    // A key of another type is one thing.
    let numbers = keys.indices.map { Int(replies[$0].integer ?? 1) }
    (counts.devices, counts.setAside, counts.profileFields) = (numbers[0], numbers[2], numbers[3])
    (counts.reached, counts.verdicts) = (numbers[4], numbers[5])
    counts.tokens = max(numbers[1], numbers[0] + numbers[2])
    guard counts.tokens <= LargeUserErasure.maximumAtOnce else { return nil }
    // A token may be of several topics.
    let members = try await redis.answers(
      to: [["SMEMBERS", keys[0]], ["HKEYS", keys[1]], ["HKEYS", keys[2]]])
    var tokens: Set<ExactText> = []
    for reply in [members[0], members[1], members[2]] {
      for place in 0..<reply.count {
        guard let binding = reply[place].text.flatMap({ Binding(member: $0) }) else { continue }
        tokens.insert(ExactText(binding.token))
      }
    }
    counts.tokens = tokens.count
    return tokens
  }

  private func free(_ owned: [String], _ user: String) async throws(DevicesError) {
    do {
      try await tokens.release(owned.map { ($0, user) })
    } catch {
      throw DevicesError(error)
    }
  }
}

// MARK: - Follows and tokens that are the user's by name alone

extension UserErasure {
  /// - Parameters:
  ///   - names: streamers, or tags.
  ///   - lists: the keyspace of whichever they are.
  private func leave(
    _ names: [String], _ lists: Keyspace, _ counter: WritableKeyPath<ErasureCounts, Int>,
    _ user: String, _ writes: Bool, _ counts: inout ErasureCounts
  ) async throws(DevicesError) {
    for start in stride(from: 0, to: names.count, by: Self.perPage) {
      let page = Array(names[start..<min(start + Self.perPage, names.count)])
      // One list whose keys hold something else must not keep the user in the others.
      let (found, unreadable) = try await left(page, lists, user, writes)
      counts[keyPath: counter] += found
      counts.unreadable += unreadable
    }
  }

  private func left(
    _ names: [String], _ lists: Keyspace, _ user: String, _ writes: Bool
  ) async throws(DevicesError) -> (found: Int, unreadable: Int) {
    if writes {
      let (changed, refused) = try await FollowChanges(
        redis: redis, keyspace: lists, plainSet: nil
      ).applyEach(.unfollow, names.map { ($0, user) })
      return (changed, refused.count)
    }
    let headings = try await redis.eachAudienceHeading(of: names, lists)
    let shards = zip(names, headings).compactMap { name, heading in
      (try? heading.get())?.places(of: user, following: name, lists)[0]
    }
    let replies = try await redis.answers(to: shards.map { ["SISMEMBER", $0, user] })
    return (
      shards.indices.count { replies[$0].integer == 1 },
      names.count - shards.count + shards.indices.count { replies[$0].error != nil }
    )
  }

  /// Returns whether it went to the end.
  private func lookEverywhere(
    _ user: String, _ known: [String], _ writes: Bool, own: Set<ExactText>?,
    _ counts: inout ErasureCounts, _ told: (ErasureCounts) -> Bool
  ) async throws(DevicesError) -> Bool {
    // SCAN may tell a key more than once.
    var seen = Set(known.map { ExactText($0) })
    var seenTags: Set<ExactText> = []
    return try await KeyScan(redis: redis, pattern: keyspace.namingPattern).run {
      (keys) async throws(DevicesError) -> Bool in
      var (streamers, tags): ([String], [String]) = ([], [])
      var (shards, owners, moves): ([String], [String], [String]) = ([], [], [])
      var traces: [String] = []
      for key in keys {
        switch keyspace.namingKey(key) {
        case .followers(let streamer):
          if seen.insert(ExactText(streamer)).inserted { streamers.append(streamer) }
        case .tag(let tag):
          if seenTags.insert(ExactText(tag)).inserted { tags.append(tag) }
        case .followerShard, .tagShard: shards.append(key)
        case .tokenOwner(let token): owners.append(token)
        case .tokenMoves(let token): moves.append(token)
        case .trace: traces.append(key)
        case nil: continue
        }
      }
      try await leave(streamers, keyspace, \.follows, user, writes, &counts)
      try await leave(tags, keyspace.ofTags, \.tags, user, writes, &counts)
      try await leaveShards(shards, user, writes, &counts)
      try await freeTokens(owners, moves, user, writes, own: own, &counts)
      try await leaveTraces(traces, user, writes, &counts)
      counts.streamers += streamers.count
      return told(counts)
    }
  }

  /// Shards that no fan-out reads: of generations that have gone, or whose hash somebody deleted.
  /// The others are their list's business, which counts. A generation that is neither the current
  /// nor the coming one when the user has been found in it never becomes either.
  private func leaveShards(
    _ keys: [String], _ user: String, _ writes: Bool, _ counts: inout ErasureCounts
  ) async throws(DevicesError) {
    let replies = try await redis.answers(to: keys.map { ["SISMEMBER", $0, user] })
    var dead: [String] = []
    for (index, key) in keys.enumerated() where replies[index].integer == 1 {
      let (name, lists): (String, Keyspace)
      switch keyspace.namingKey(key) {
      case .followerShard(let streamer): (name, lists) = (streamer, keyspace)
      case .tagShard(let tag): (name, lists) = (tag, keyspace.ofTags)
      default: continue
      }
      do throws(DevicesError) {
        let heading = try await redis.audienceHeading(of: name, lists)
        let places = heading.places(of: user, following: name, lists)
        let alive = heading.exists ? places[...] : places.dropFirst()
        if !alive.contains(key) { dead.append(key) }
      } catch {
        // Such a list was counted as unreadable.
        guard error.isOfContent else { throw error }
      }
    }
    guard writes, !dead.isEmpty else {
      counts.leftovers += dead.count
      return
    }
    let removed = try await redis.answers(to: dead.map { ["SREM", $0, user] })
    counts.leftovers += dead.indices.count { removed[$0].integer == 1 }
  }

  private func leaveTraces(
    _ keys: [String], _ user: String, _ writes: Bool, _ counts: inout ErasureCounts
  ) async throws(DevicesError) {
    let command = writes ? "HDEL" : "HEXISTS"
    let replies = try await redis.answers(to: keys.map { [command, $0, user] })
    counts.traces += keys.indices.count { replies[$0].integer == 1 }
  }

  /// A bind that died has left the user's name on a token that the user never got.
  /// - Parameter own: tokens of the user's devices, as long as these are there.
  private func freeTokens(
    _ owners: [String], _ moves: [String], _ user: String, _ writes: Bool,
    own: Set<ExactText>?, _ counts: inout ErasureCounts
  ) async throws(DevicesError) {
    let replies = try await redis.answers(
      to: owners.map { ["GET", keyspace.tokenOwner(token: $0)] }
        + moves.map { ["HEXISTS", keyspace.tokenMoves(token: $0), ":" + user] })
    var found: [String] = []
    for (index, token) in owners.enumerated()
    where replies[index].bytes?.elementsEqual(user.utf8) == true {
      found.append(token)
    }
    for (index, token) in moves.enumerated()
    where replies[owners.count + index].integer == 1 && !found.contains(token) {
      found.append(token)
    }
    guard !found.isEmpty else { return }
    if writes {
      try await free(found, user)
      counts.tokens += found.count
    } else if let own {
      counts.tokens += found.count { !own.contains(ExactText($0)) }
    }
  }
}

/// The followers of the streamer who has a user's id: counted, and erased where that is asked for.
/// Ids of users and of streamers may be other people's. Confined to the loop of its Redis client.
struct AudienceErasure {
  let redis: RedisClient
  let keyspace: Keyspace

  func run(
    _ user: String, erases: Bool, _ counts: inout ErasureCounts
  ) async throws(DevicesError) {
    guard AudienceFollows.problem(streamer: user) == nil else { return }
    let heading: AudienceHeading
    do throws(DevicesError) {
      heading = try await redis.audienceHeading(of: user, keyspace)
    } catch {
      // Somebody else's business, unless it was asked for.
      guard error.isOfContent, !erases else { throw error }
      return
    }
    guard heading.exists else { return }
    counts.audience = try await redis.members(of: heading.shardKeys(of: user, keyspace))
    guard erases else { return }
    let writer = AudienceWriter(redis: redis, keyspace: keyspace)
    try await writer.begin(streamer: user, expectedFollowers: 0, allowsEmpty: true)
    let summary = try await writer.finish()
    counts.hasErasedAudience = true
    try await removeHeading(of: user, summary)
  }

  /// The heading goes unless somebody follows again. Its number of followers does not tell: it
  /// lacks who was written to the generation before that became current. So it is marked, the
  /// shards are counted, and a follow that comes after the count has taken the mark away.
  private func removeHeading(
    of streamer: String, _ summary: AudienceSummary
  ) async throws(DevicesError) {
    let heading = [keyspace.followers(of: streamer)]
    let arguments: ScriptArguments = [
      "shards": String(summary.shards), "generation": String(summary.generation),
    ]
    _ = try await redis.reply(to: ErasureScripts.markEmpty, keys: heading, arguments: arguments)
    let shards = AudienceRewrite.keys(
      keyspace, streamer, generation: summary.generation, shards: summary.shards)
    guard try await redis.members(of: shards) == 0 else { return }
    _ = try await redis.reply(to: ErasureScripts.removeEmpty, keys: heading, arguments: arguments)
  }
}

/// Takes most devices from a user who has more of them than we write, page by page: one script for
/// all of them would hold up Redis, and its answer the connection. Each page may be repeated.
/// Confined to the loop of its Redis client.
struct LargeUserErasure {
  let redis: RedisClient
  let keyspace: Keyspace
  let tokens: TokenMoves

  /// As many go in one step.
  static let maximumAtOnce = 2 * AudienceRow.maximumBindings
  private static let perPage = 500

  /// First all devices go, and their names stay in `bound`; then their tokens get free. Of a user
  /// with so many devices it is taken for granted that a token is still theirs
  /// (`holding.lua`), so none gets free before.
  func run(_ user: String, _ counts: inout ErasureCounts) async throws(DevicesError) {
    let keys = keyspace.deviceKeys(user: user)
    let (sizes, ofAnotherType) = try await sizes(keys)
    guard sizes.contains(where: { $0 > Self.maximumAtOnce }) else { return }
    // A key of another type goes as a whole: the scripts fail beside it.
    if !ofAnotherType.isEmpty {
      let deleted = try await redis.replies(to: ofAnotherType.map { ["DEL", keys[$0]] })
      if let error = deleted.firstError { throw DevicesError(reply: error.message) }
    }
    for index in [0, 2] where sizes[index] > 0 {
      try await eachPage(index == 0 ? "SSCAN" : "HSCAN", keys[index]) {
        (members) async throws(DevicesError) in
        let answer = try await redis.reply(
          to: ErasureScripts.drop, keys: keys, list: members)
        counts.devices += Int(answer[0].integer ?? 0)
        counts.setAside += Int(answer[1].integer ?? 0)
      }
    }
    try await eachPage("HSCAN", keys[1]) { (members) async throws(DevicesError) in
      try await free(members, user, keys, &counts)
    }
  }

  func isLarge(_ user: String) async throws(DevicesError) -> Bool {
    try await sizes(keyspace.deviceKeys(user: user)).sizes.contains { $0 > Self.maximumAtOnce }
  }

  /// Of bindings, bound and quarantined; 0 of a key of another type.
  private func sizes(
    _ keys: [String]
  ) async throws(DevicesError) -> (sizes: [Int64], ofAnotherType: [Int]) {
    let commands = [["SCARD", keys[0]], ["HLEN", keys[1]], ["HLEN", keys[2]]]
    let replies = try await redis.replies(to: commands)
    return (
      commands.indices.map { replies[$0].integer ?? 0 },
      commands.indices.filter { replies[$0].error?.kind == .wrongType }
    )
  }

  private func eachPage(
    _ command: String, _ key: String,
    _ body: (_ members: [String]) async throws(DevicesError) -> Void
  ) async throws(DevicesError) {
    let stride = command == "SSCAN" ? 1 : 2
    var cursor = "0"
    repeat {
      let replies = try await redis.replies(
        to: [[command, key, cursor, "COUNT", String(Self.perPage)]])
      if let error = replies.firstError { throw DevicesError(reply: error.message) }
      guard let next = replies[0][0].text else { throw DevicesError.unexpected(command) }
      cursor = next
      let found = replies[0][1]
      var members: [String] = []
      for place in Swift.stride(from: 0, to: found.count, by: stride) {
        if let member = found[place].text { members.append(member) }
      }
      for start in Swift.stride(from: 0, to: members.count, by: Self.perPage) {
        try await body(Array(members[start..<min(start + Self.perPage, members.count)]))
      }
    } while cursor != "0"
  }

  private func free(
    _ members: [String], _ user: String, _ keys: [String], _ counts: inout ErasureCounts
  ) async throws(DevicesError) {
    // A token may be of several topics.
    let owned = Set(members.compactMap { Binding(member: $0)?.token })
    do {
      try await tokens.release(owned.map { ($0, user) })
    } catch {
      throw DevicesError(error)
    }
    counts.tokens += owned.count
    _ = try await redis.reply(
      to: ErasureScripts.finish, keys: Array(keys.prefix(2)), list: members)
  }
}
