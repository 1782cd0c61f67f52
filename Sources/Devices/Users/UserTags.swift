import Keyspace
import Redis
import Text

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
