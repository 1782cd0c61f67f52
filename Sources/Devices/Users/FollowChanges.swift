import Keyspace
import Redis
import Text

/// Follows, or unfollows, of many users at once, whoever the streamers are, at any time: also while
/// followers are being divided into other shards. Confined to the loop of its Redis client.
///
/// A streamer's hash and each shard have a hash tag of their own, so it is done in steps:
///
/// 1. The user's shard of the generation that fan-outs read is written.
/// 2. While a rewrite is under way, so is the shard in the coming generation. Then the first is
///    looked at once more. Every writer into a coming generation does so, and writes again until
///    both agree: so the last one who wrote has seen what stays.
/// 3. The hash says whether it is still what it was when the shards were chosen. If not, the user
///    may be in shards that nobody reads, and it is done again.
///
/// A process that dies on the way has told nobody that it is done.
final class FollowChanges {
  enum Verb: String {
    case follow = "SADD"
    case unfollow = "SREM"
  }

  /// A change that is not made, because a key of its streamer holds something else.
  struct Refusal {
    /// Among the changes that were given.
    let index: Int
    let error: DevicesError
  }

  /// A user and a streamer, and what was tried so far.
  private struct Change {
    let index: Int
    let streamer: String
    let user: String
    /// The user's shards as of the last try.
    var places: [String] = []
    var isCounted = false
    /// The difference that the heading's `followers` lacks: tries have changed a shard, and the
    /// heading had moved to another generation by then. It may be more than one, since others undo
    /// what a try has done.
    var uncounted = 0
  }

  private let redis: RedisClient
  private let keyspace: Keyspace
  private let plainSet: PlainSetPattern?

  /// How often a change starts again because its streamer was rewritten meanwhile.
  private static let maximumTries = 16

  init(redis: RedisClient, keyspace: Keyspace, plainSet: PlainSetPattern?) {
    self.redis = redis
    self.keyspace = keyspace
    self.plainSet = plainSet
  }

  /// Returns how many were not so before. While followers are divided this may count who was moved
  /// just then. Throws the first refusal; the other changes are made all the same.
  func apply(
    _ verb: Verb, _ changes: [(streamer: String, user: String)]
  ) async throws(DevicesError) -> Int {
    let (changed, refused) = try await applyEach(verb, changes)
    if let first = refused.first { throw first.error }
    return changed
  }

  /// As above, with the refusals.
  func applyEach(
    _ verb: Verb, _ changes: [(streamer: String, user: String)]
  ) async throws(DevicesError) -> (changed: Int, refused: [Refusal]) {
    var left = changes.enumerated().map {
      Change(index: $0, streamer: $1.streamer, user: $1.user)
    }
    var changed = 0
    var refused: [Refusal] = []
    for _ in 0..<Self.maximumTries where !left.isEmpty {
      left = try await attempt(verb, left, &changed, &refused)
    }
    guard left.isEmpty else {
      throw DevicesError(
        .conflict,
        "\(keyspace.people(of: left[0].streamer)) were rewritten \(Self.maximumTries) times "
          + "meanwhile"
      )
    }
    return (changed, refused)
  }

  /// Returns what is to be done again.
  private func attempt(
    _ verb: Verb, _ left: [Change], _ changed: inout Int, _ refused: inout [Refusal]
  ) async throws(DevicesError) -> [Change] {
    let headings = try await headings(of: left, &refused)
    let (placed, stale) = place(verb, left, headings)
    try await sweep(stale)
    guard !placed.isEmpty else { return [] }
    var changes = placed
    let written = try await redis.answers(
      to: changes.map { [verb.rawValue, $0.places[0], $0.user] })
    var sums: [ExactText: Int] = [:]
    var wrong: Set<Int> = []
    for index in changes.indices {
      if let error = written[index].error {
        wrong.insert(index)
        refused.append(
          Refusal(index: changes[index].index, error: DevicesError(reply: error.message)))
        continue
      }
      let isChanged = written[index].integer == 1
      if isChanged { changes[index].uncounted += verb == .follow ? 1 : -1 }
      let difference = changes[index].uncounted
      sums[ExactText(changes[index].streamer), default: 0] += difference
      if isChanged, !changes[index].isCounted {
        changes[index].isCounted = true
        changed += 1
      }
    }
    changes = changes.indices.filter { !wrong.contains($0) }.map { changes[$0] }
    let contested = try await writeComing(verb, changes, &refused)
    let moved = try await confirm(verb, sums, headings)
    for index in changes.indices where !moved.contains(ExactText(changes[index].streamer)) {
      changes[index].uncounted = 0
    }
    let given = Set(refused.map(\.index))
    return changes.indices.filter {
      contested.contains($0) || moved.contains(ExactText(changes[$0].streamer))
    }.map { changes[$0] }.filter { !given.contains($0.index) }
  }

  /// Of those streamers whose hash can be read; the changes of the others are refused.
  private func headings(
    of left: [Change], _ refused: inout [Refusal]
  ) async throws(DevicesError) -> [ExactText: AudienceHeading] {
    var seen: Set<ExactText> = []
    let streamers = left.map { ExactText($0.streamer) }.filter { seen.insert($0).inserted }
    let read = try await redis.eachAudienceHeading(
      of: streamers.map(\.text), keyspace, hiding: plainSet)
    let results = Dictionary(uniqueKeysWithValues: zip(streamers, read))
    for change in left {
      if case .failure(let error) = results[ExactText(change.streamer)] {
        refused.append(Refusal(index: change.index, error: error))
      }
    }
    return results.compactMapValues { try? $0.get() }
  }

  /// Chooses the shards. `stale` are those of the try before that are neither current nor coming:
  /// a generation that went away must not come back for one user.
  private func place(
    _ verb: Verb, _ left: [Change], _ headings: [ExactText: AudienceHeading]
  ) -> (changes: [Change], stale: [[String]]) {
    var changes: [Change] = []
    var stale: [[String]] = []
    for change in left {
      guard let heading = headings[ExactText(change.streamer)] else { continue }
      let places = heading.places(of: change.user, following: change.streamer, keyspace)
      if verb == .follow {
        stale += change.places.filter { !places.contains($0) }.map { ["SREM", $0, change.user] }
      }
      // Nobody follows whom nobody has followed yet.
      if verb == .unfollow, !heading.exists, heading.next == nil { continue }
      changes.append(change)
      // The rewrite that made another generation the current one has counted the change.
      if change.places.first != places.first { changes[changes.count - 1].uncounted = 0 }
      changes[changes.count - 1].places = places
    }
    return (changes, stale)
  }

  private func sweep(_ stale: [[String]]) async throws(DevicesError) {
    if !stale.isEmpty { _ = try await redis.answers(to: stale) }
  }

  /// Returns those whom somebody else changed at the same time.
  private func writeComing(
    _ verb: Verb, _ changes: [Change], _ refused: inout [Refusal]
  ) async throws(DevicesError) -> Set<Int> {
    let coming = changes.indices.filter { changes[$0].places.count > 1 }
    guard !coming.isEmpty else { return [] }
    let written = try await redis.answers(
      to:
        coming.map { [verb.rawValue, changes[$0].places[1], changes[$0].user] })
    for (index, change) in coming.enumerated() {
      guard let error = written[index].error else { continue }
      refused.append(
        Refusal(index: changes[change].index, error: DevicesError(reply: error.message)))
    }
    let found = try await redis.answers(
      to:
        coming.map { ["SISMEMBER", changes[$0].places[0], changes[$0].user] })
    return Set(
      coming.indices.filter { (found[$0].integer == 1) != (verb == .follow) }.map { coming[$0] })
  }

  /// Returns the streamers whose hash is another by now.
  private func confirm(
    _ verb: Verb, _ sums: [ExactText: Int], _ headings: [ExactText: AudienceHeading]
  ) async throws(DevicesError) -> Set<ExactText> {
    let streamers = sums.keys.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
    let answers = try await redis.checked(
      AudienceScripts.confirm,
      streamers.map {
        ScriptCall(
          keys: [keyspace.followers(of: $0.text)],
          arguments: (headings[$0]?.arguments ?? [:]) + [
            "change": String(sums[$0] ?? 0), "is_follow": verb == .follow ? "1" : "0",
          ])
      })
    return Set(streamers.indices.filter { answers[$0].integer == 0 }.map { streamers[$0] })
  }
}
