import Keyspace
import Model
import Redis
import Rules
import Text

/// Users, their devices, profiles and follows, one user at a time: what the verbs and the HTTP
/// interface call. It writes what Expand reads. Confined to the loop of its Redis client.
///
/// Each call says how many steps it takes: a step is one script or command on keys of one hash tag,
/// so that it happens whole or not at all, on one Redis and on a cluster. A call that fails or
/// breaks off between two steps may be repeated, and what it has begun harms nothing (see
/// `TokenMoves` and `FollowChanges`).
///
/// A caller checks values from people by `Given` first: here a wrong value is
/// `DevicesErrorCode.invalid`.
package final class DeviceRegistry {
  let redis: RedisClient
  let keyspace: Keyspace
  private let plainSet: PlainSetPattern?
  private let binder: TokenBinder

  /// - Parameters:
  ///   - plainSet: where followers without shards may stand; a follow beside them is refused,
  ///     because it would hide them.
  ///   - tell: hears of devices that go from one user to another.
  package init(
    redis: RedisClient, keyspace: Keyspace, plainSet: PlainSetPattern? = nil,
    tell: TellMoves? = nil
  ) {
    self.redis = redis
    self.keyspace = keyspace
    self.plainSet = plainSet
    binder = TokenBinder(redis: redis, keyspace: keyspace, tell: tell)
  }

  static func check(_ user: String) throws(DevicesError) {
    guard Keyspace.isIdentifier(user) else {
      throw DevicesError(.invalid, AudienceRow.identifierProblem("user"))
    }
  }
}

// MARK: - Devices

extension DeviceRegistry {
  /// Binds a device. A token that belonged to another user leaves that one, in every app; one that
  /// was set aside as unusable is taken back.
  ///
  /// Steps: the token gets its new owner; whoever had it leaves it; the user takes it. Between two
  /// of them the token is with whom it was, or with nobody, and never with two; who binds it next
  /// finishes what was begun.
  /// - Parameters:
  ///   - at: ms since 1970. An earlier time than the one that is known changes nothing.
  ///   - isBelated: it is told later than it was. Where another user has bound the token since,
  ///     nothing is changed, and `overtaken` thrown.
  ///   - onMove: hears whom the token leaves, before anything else may fail.
  /// - Returns: whether the binding is new.
  @discardableResult
  package func bind(
    user: String, _ binding: Binding, at: Int64, isBelated: Bool = false,
    onMove: @escaping ([DeviceMove]) -> Void = { _ in }
  ) async throws(DevicesError) -> Bool {
    try Self.check(user)
    let login = TokenBinder.Login(user: user, bindings: [binding], at: at)
    if isBelated { try await checkOvertaken(user, binding, at) }
    try await checkCount(user, binding)
    return try await binder.hearing(onMove).bind([login]) == 1
  }

  /// A user has a bounded number of devices, so that reading them holds nobody up. Users who bind
  /// at the same time may have a few more.
  private func checkCount(
    _ user: String, _ new: Binding, replacing old: Binding? = nil
  ) async throws(DevicesError) {
    let bindings = keyspace.bindings(user: user)
    let replies = try await redis.replies(
      to: [["SCARD", bindings], ["SISMEMBER", bindings, new.member]]
        + (old.map { [["SISMEMBER", bindings, $0.member]] } ?? []))
    if let error = replies.firstError { throw DevicesError(reply: error.message) }
    let count = Int(replies[0].integer ?? 0)
    let isKnown = (1..<replies.count).contains { replies[$0].integer == 1 }
    guard count >= AudienceRow.maximumBindings, !isKnown else { return }
    let members = [new.member] + (old.map { [$0.member] } ?? [])
    let places = try await DevicePlaces.read(of: user, for: members, among: count, redis, keyspace)
    if let places, members.contains(where: { places.free(for: [$0]) == 0 }) { return }
    throw DevicesError(.tooLarge, AudienceRow.tooManyDevices(of: user, count + 1))
  }

  private func checkOvertaken(
    _ user: String, _ binding: Binding, _ at: Int64
  ) async throws(DevicesError) {
    guard
      try await binder.isOvertaken(
        .init(user: user, bindings: [binding], at: at, isBelated: true))
    else { return }
    throw DevicesError(.overtaken, "another user has bound the token since then, and keeps it")
  }

  /// Takes one device from a user: a logout. Another user's device stays, whatever the token.
  ///
  /// Steps: the user loses the device, and gets no push on it from then on; then the token gets
  /// free. In between nobody has it, and whoever binds it gets it.
  /// - Returns: whether the binding was there.
  @discardableResult
  package func unbind(user: String, _ binding: Binding) async throws(DevicesError) -> Bool {
    try await unbind(
      user: user, token: binding.token, topic: binding.topic, environment: binding.destination) > 0
  }

  /// As above, of whatever topic and environment are left open.
  /// - Parameter token: lower-case hex.
  /// - Returns: how many bindings there were.
  package func unbind(
    user: String, token: String, topic: String? = nil, environment: Destination? = nil
  ) async throws(DevicesError) -> Int {
    try Self.check(user)
    return try await binder.unbind(user, token, topic: topic, environment: environment)
  }

  /// Puts `new` in the place of `old`: Apple gave the device another token.
  ///
  /// One step decides: a fan-out sees the old one before it, the new one after it, never both and
  /// never neither. Before it, a token that was another user's leaves that one; behind it the old
  /// token gets free. When another user binds the new token at the same time and is the later one,
  /// that user has it, and this one has lost the old one.
  /// - Parameters:
  ///   - at: when the new one was bound, ms since 1970.
  ///   - isBelated: as for `bind`.
  ///   - onMove: as for `bind`.
  /// - Returns: whether the old binding was there. The new one is, in any case.
  @discardableResult
  package func replace(
    user: String, _ old: Binding, with new: Binding, at: Int64, isBelated: Bool = false,
    onMove: @escaping ([DeviceMove]) -> Void = { _ in }
  ) async throws(DevicesError) -> Bool {
    guard old != new else {
      return try await !bind(user: user, new, at: at, isBelated: isBelated, onMove: onMove)
    }
    try Self.check(user)
    if isBelated { try await checkOvertaken(user, new, at) }
    try await checkCount(user, new, replacing: old)
    return try await binder.hearing(onMove).replace(user, old, with: new, at: at)
  }
}

// MARK: - Reading

extension DeviceRegistry {
  /// Reads in one step. A user with more than `UserReading` lets through is refused
  /// (`DevicesErrorCode.tooLarge`).
  package func user(_ user: String) async throws(DevicesError) -> UserRecord {
    try Self.check(user)
    let answer = try await UserReading.run(
      devicesOf(user) + [
        ("HGETALL", keyspace.profile(user: user)), ("ZCARD", keyspace.reached(user: user)),
      ], of: user, redis)
    return UserRecord(
      user: user, devices: UserReplies.devices(of: user, answer[1], answer[2], answer[3]),
      profile: UserReplies.profile(answer[4]), reached: Int(answer[5].integer ?? 0))
  }

  /// As in `user(_:)`, and nothing else.
  package func devices(of user: String) async throws(DevicesError) -> UserDevices {
    try Self.check(user)
    let answer = try await UserReading.run(devicesOf(user), of: user, redis)
    return UserReplies.devices(of: user, answer[1], answer[2], answer[3])
  }

  package func profile(of user: String) async throws(DevicesError) -> UserProfile {
    try Self.check(user)
    let answer = try await UserReading.run(
      [("HGETALL", keyspace.profile(user: user))], of: user, redis)
    return UserReplies.profile(answer[1])
  }

  private func devicesOf(_ user: String) -> [(command: String, key: String)] {
    [
      ("SMEMBERS", keyspace.bindings(user: user)), ("HGETALL", keyspace.bound(user: user)),
      ("HGETALL", keyspace.quarantined(user: user)),
    ]
  }
}

// MARK: - Profiles

extension DeviceRegistry {
  /// Sets and takes out fields of a profile, in one step: a reader sees all of it or nothing.
  package func change(
    profileOf user: String, _ patch: ProfilePatch
  ) async throws(DevicesError) {
    try Self.check(user)
    guard !patch.isEmpty else { return }
    let answer = try await redis.reply(
      to: DeviceScripts.profile, keys: [keyspace.profile(user: user)],
      arguments: ["maximum_fields": String(AudienceRow.maximumFields)],
      list: patch.fields.members.flatMap { [$0.name, $0.value] })
    if let count = answer.integer, count > 0 {
      throw DevicesError(.tooLarge, AudienceRow.tooManyFields(of: user, Int(count)))
    }
  }

  /// Mutes streamers for a user, or lets them be heard again, in one step; it counts where
  /// `rules.muted_streamers` is on. The user's follows stay.
  /// - Returns: how many of them were not so before.
  @discardableResult
  package func mute(
    user: String, streamers: [String], isMuted: Bool = true
  ) async throws(DevicesError) -> Int {
    try Self.check(user)
    for streamer in streamers {
      if let problem = AudienceFollows.problem(streamer: streamer) {
        throw DevicesError(.invalid, problem)
      }
    }
    guard !streamers.isEmpty else { return 0 }
    let answer = try await redis.reply(
      to: DeviceScripts.mute, keys: [keyspace.profile(user: user)],
      arguments: [
        "field": ProfilePatch.mutedStreamers, "is_muting": isMuted ? "1" : "0",
        "maximum_bytes": String(RecipientJudge.maximumListBytes),
      ], list: streamers)
    guard let changed = answer.integer, changed >= 0 else {
      throw DevicesError(
        .invalid,
        "\(user) would mute more streamers than \(RecipientJudge.maximumListBytes) bytes hold, "
          + "and rules look no further: nothing was changed")
    }
    return Int(changed)
  }
}

// MARK: - Follows

extension DeviceRegistry {
  /// The user follows a streamer from now on. With `isMuted` the streamer is muted, or heard again,
  /// in a step before, so that no push slips through; else mutes stay.
  /// - Returns: whether the user did not follow before.
  @discardableResult
  package func follow(
    streamer: String, user: String, isMuted: Bool? = nil
  ) async throws(DevicesError) -> Bool {
    if let isMuted { try await mute(user: user, streamers: [streamer], isMuted: isMuted) }
    return try await change(.follow, streamer, user)
  }

  /// Mutes stay: who follows again has not changed their mind about those.
  /// - Returns: whether the user followed.
  @discardableResult
  package func unfollow(streamer: String, user: String) async throws(DevicesError) -> Bool {
    try await change(.unfollow, streamer, user)
  }

  private func change(
    _ verb: FollowChanges.Verb, _ streamer: String, _ user: String
  ) async throws(DevicesError) -> Bool {
    try Self.check(user)
    if let problem = AudienceFollows.problem(streamer: streamer) {
      throw DevicesError(.invalid, problem)
    }
    let changes = FollowChanges(redis: redis, keyspace: keyspace, plainSet: plainSet)
    return try await changes.apply(verb, [(streamer, user)]) == 1
  }
}

/// Tags: sets of users that an event can address instead of followers. A tag's users stand as a
/// streamer's followers do, under keys of their own, and come, go and are divided by the same code.
extension DeviceRegistry {
  /// Users that one call adds or takes out at most.
  package static let maximumTagged = 1_000

  /// Gives users a tag, or takes it from them, at any time: also while its users are divided into
  /// other shards. Each is a step of its own; a call that breaks off may be repeated.
  /// - Returns: how many were not so before.
  @discardableResult
  package func tag(
    _ tag: String, users: [String], isOn: Bool = true
  ) async throws(DevicesError) -> Int {
    guard Keyspace.isTag(tag) else {
      throw DevicesError(.invalid, "a tag must be \(Keyspace.tagRule)")
    }
    for user in users { try Self.check(user) }
    var seen: Set<ExactText> = []
    let changes = users.filter { seen.insert(ExactText($0)).inserted }.map { (tag, $0) }
    guard !changes.isEmpty else { return 0 }
    return try await FollowChanges(redis: redis, keyspace: keyspace.ofTags, plainSet: nil)
      .apply(isOn ? .follow : .unfollow, changes)
  }
}
