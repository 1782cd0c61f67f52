import Keyspace
import Model
import Redis

/// Writes what Expand reads, one user at a time: devices, profile, follows. Each call is atomic in
/// Redis and may be repeated. Confined to the loop of its Redis client.
package final class DeviceRegistry {
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let plainSet: PlainSetPattern?

  /// - Parameter plainSet: where followers without shards may stand; a follow beside them is
  ///   refused, because it would hide them.
  package init(redis: RedisClient, keyspace: Keyspace, plainSet: PlainSetPattern? = nil) {
    self.redis = redis
    self.keyspace = keyspace
    self.plainSet = plainSet
  }

  /// Binds a device. A token that belonged to another user leaves that one; one that was set aside
  /// as unusable is taken back. `at` is in ms since 1970. Returns whether the binding is new.
  @discardableResult
  package func bind(
    user: String, _ binding: Binding, at: Int64
  ) async throws(DevicesError) -> Bool {
    try Self.check(user, "user")
    return try await withOwner(of: binding.token) { owner throws(DevicesError) in
      var keys = [keyspace.tokenOwner(token: binding.token)] + userKeys(user)
      if let owner, !owner.isExactly(user) { keys += userKeys(owner) }
      return try await run(
        DeviceScripts.bind, keys: keys,
        arguments: [user, binding.member, String(at), owner ?? ""])
    }
  }

  /// Returns whether the binding was there.
  @discardableResult
  package func unbind(user: String, _ binding: Binding) async throws(DevicesError) -> Bool {
    try Self.check(user, "user")
    let reply = try await run(
      DeviceScripts.unbind, keys: [keyspace.tokenOwner(token: binding.token)] + userKeys(user),
      arguments: [user, binding.member])
    return reply[1].integer == 1
  }

  /// Puts `new` in the place of `old` in one step: a fan-out never sees both. Returns whether the
  /// old binding was there.
  @discardableResult
  package func replace(
    user: String, _ old: Binding, with new: Binding, at: Int64
  ) async throws(DevicesError) -> Bool {
    guard old != new else { return try await !bind(user: user, new, at: at) }
    try Self.check(user, "user")
    return try await withOwner(of: new.token) { owner throws(DevicesError) in
      var keys = [keyspace.tokenOwner(token: new.token)] + userKeys(user)
      keys.append(keyspace.tokenOwner(token: old.token))
      if let owner, !owner.isExactly(user) { keys += userKeys(owner) }
      return try await run(
        DeviceScripts.replace, keys: keys,
        arguments: [user, new.member, String(at), owner ?? "", old.member])
    }
  }

  /// Sets fields of a profile; the others stay. An empty value takes its field out.
  package func profile(
    user: String, _ fields: [(name: String, value: String)]
  ) async throws(DevicesError) {
    try Self.check(user, "user")
    if let problem = AudienceRow.problem(profile: fields) {
      throw DevicesError(.invalid, "the profile \(problem)")
    }
    let key = keyspace.profile(user: user)
    let pipeline = RedisPipeline()
    // One transaction, so that a reader sees all of it or nothing.
    pipeline.append("MULTI")
    let set = fields.filter { !$0.value.isEmpty }
    if !set.isEmpty { pipeline.append(["HSET", key] + set.flatMap { [$0.name, $0.value] }) }
    let unset = fields.filter { $0.value.isEmpty }
    if !unset.isEmpty { pipeline.append(["HDEL", key] + unset.map(\.name)) }
    pipeline.append("EXEC")
    guard pipeline.count > 2 else { return }
    let replies = try await redis.replies(to: pipeline)
    let results = replies[replies.count - 1]
    if let text = results.errorText { throw DevicesError(reply: text) }
    for index in 0..<results.count {
      if let text = results[index].errorText { throw DevicesError(reply: text) }
    }
  }

  /// Returns whether the user did not follow before.
  @discardableResult
  package func follow(streamer: String, user: String) async throws(DevicesError) -> Bool {
    try await change(.follow, streamer, user)
  }

  /// Returns whether the user followed.
  @discardableResult
  package func unfollow(streamer: String, user: String) async throws(DevicesError) -> Bool {
    try await change(.unfollow, streamer, user)
  }
}

// MARK: - How it is done

extension DeviceRegistry {
  /// How often a call starts again because others changed what it had read.
  private static let maximumTries = 16

  private func userKeys(_ user: String) -> [String] { keyspace.deviceKeys(user: user) }

  private static func check(_ user: String, _ what: String) throws(DevicesError) {
    guard Keyspace.isIdentifier(user) else {
      throw DevicesError(.invalid, AudienceRow.identifierProblem(what))
    }
  }

  /// Reads who owns the token and runs `body` with it, again when the owner changed in between.
  /// Returns whether the script's number is 1.
  private func withOwner(
    of token: String, _ body: (String?) async throws(DevicesError) -> RedisReply
  ) async throws(DevicesError) -> Bool {
    let replies = try await redis.replies(
      to: RedisPipeline(["GET", keyspace.tokenOwner(token: token)]))
    if let text = replies[0].errorText { throw DevicesError(reply: text) }
    var found = replies[0]
    for _ in 0..<Self.maximumTries {
      let owner = found.text.flatMap { $0.isEmpty ? nil : $0 }
      guard found.isNull || found.text == "" || Keyspace.isIdentifier(owner ?? "") else {
        throw DevicesError(
          .badContent, "the owner of a token is no user id: DEL that key, then bind again")
      }
      let reply = try await body(owner)
      if reply[0].text == "done" { return reply[1].integer == 1 }
      found = reply[1]
    }
    throw DevicesError(.conflict, "a token changed hands \(Self.maximumTries) times meanwhile")
  }

  private func change(
    _ verb: FollowChanges.Verb, _ streamer: String, _ user: String
  ) async throws(DevicesError) -> Bool {
    try Self.check(user, "user")
    if let problem = AudienceFollows.problem(streamer: streamer) {
      throw DevicesError(.invalid, problem)
    }
    let changes = FollowChanges(redis: redis, keyspace: keyspace, plainSet: plainSet)
    return try await changes.apply(verb, [(streamer, user)]) == 1
  }

  private func run(
    _ script: RedisScript, keys: [String], arguments: [String]
  ) async throws(DevicesError) -> RedisReply {
    try await redis.reply(to: script, keys: keys, arguments: arguments)
  }
}
