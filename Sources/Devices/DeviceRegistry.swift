import Keyspace
import Model
import Redis

/// Writes what Expand reads, one user at a time: devices, profile, follows. A call that fails or
/// breaks off may be repeated, and what it has begun harms nothing (see `TokenMoves` and
/// `FollowChanges`). Confined to the loop of its Redis client.
package final class DeviceRegistry {
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let plainSet: PlainSetPattern?
  private let binder: TokenBinder

  /// - Parameter plainSet: where followers without shards may stand; a follow beside them is
  ///   refused, because it would hide them.
  package init(redis: RedisClient, keyspace: Keyspace, plainSet: PlainSetPattern? = nil) {
    self.redis = redis
    self.keyspace = keyspace
    self.plainSet = plainSet
    binder = TokenBinder(redis: redis, keyspace: keyspace)
  }

  /// Binds a device. A token that belonged to another user leaves that one; one that was set aside
  /// as unusable is taken back. `at` is in ms since 1970. Returns whether the binding is new.
  @discardableResult
  package func bind(
    user: String, _ binding: Binding, at: Int64
  ) async throws(DevicesError) -> Bool {
    try Self.check(user, "user")
    return try await binder.bind([.init(user: user, bindings: [binding], at: at)]) == 1
  }

  /// Returns whether the binding was there.
  @discardableResult
  package func unbind(user: String, _ binding: Binding) async throws(DevicesError) -> Bool {
    try Self.check(user, "user")
    return try await binder.unbind(user, binding)
  }

  /// Puts `new` in the place of `old` in one step: a fan-out never sees both. Returns whether the
  /// old binding was there.
  @discardableResult
  package func replace(
    user: String, _ old: Binding, with new: Binding, at: Int64
  ) async throws(DevicesError) -> Bool {
    guard old != new else { return try await !bind(user: user, new, at: at) }
    try Self.check(user, "user")
    return try await binder.replace(user, old, with: new, at: at)
  }

  /// Sets fields of a profile; the others stay. An empty value takes its field out.
  package func profile(
    user: String, _ fields: [(name: String, value: String)]
  ) async throws(DevicesError) {
    try Self.check(user, "user")
    if let problem = AudienceRow.problem(profile: fields) {
      throw DevicesError(.invalid, "the profile \(problem)")
    }
    guard !fields.isEmpty else { return }
    _ = try await redis.reply(
      to: DeviceScripts.profile, keys: [keyspace.profile(user: user)],
      arguments: fields.flatMap { [$0.name, $0.value] })
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
  private static func check(_ user: String, _ what: String) throws(DevicesError) {
    guard Keyspace.isIdentifier(user) else {
      throw DevicesError(.invalid, AudienceRow.identifierProblem(what))
    }
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
}
