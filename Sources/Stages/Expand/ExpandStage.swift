import Keyspace
import Model
import Redis

/// Finds the users whom an event addresses and reads them, page by page, with their devices and
/// profiles. Confined to one lane.
package final class ExpandStage {
  private let redis: RedisClient
  private let keyspace: Keyspace
  private let options: ExpandOptions
  private let weights = UserWeights()

  package init(redis: RedisClient, keyspace: Keyspace, options: ExpandOptions = ExpandOptions()) {
    self.redis = redis
    self.keyspace = keyspace
    self.options = options
  }

  /// Where the users whom an event addresses are to be found. Nothing is asked where the event
  /// names them itself.
  package func audience(of event: Event) async throws(ExpandError) -> Audience {
    switch event.audience {
    case .followers: return try await audience(of: event.streamer)
    case .users: return .named
    case .matching(let expression):
      let lists = try lists(of: expression, for: event.streamer)
      let headings = try await lists.headings(from: redis)
      return expression.parts(headings).map { .selected(parts: $0) } ?? .none
    }
  }

  /// Where the followers of a streamer stand: shards, or else the plain set when one is configured
  /// and there.
  package func audience(of streamer: String) async throws(ExpandError) -> Audience {
    switch try await UserLists(
      [.followers], streamer: try Self.checked(streamer), plainKey: plainKey(of: streamer),
      keyspace: keyspace
    ).headings(from: redis)[.followers] {
    case .sharded(let heading):
      return .sharded(
        shards: heading.shards, generation: heading.generation, followers: heading.followers)
    case .plain(let key): return .plain(key: key)
    case nil: return .none
    }
  }

  private func lists(
    of expression: AudienceExpression, for streamer: String
  ) throws(ExpandError) -> UserLists {
    UserLists(
      expression.lists, streamer: try Self.checked(streamer), plainKey: plainKey(of: streamer),
      keyspace: keyspace)
  }

  private static func checked(_ streamer: String) throws(ExpandError) -> String {
    guard Keyspace.isStreamerIdentifier(streamer) else {
      throw ExpandError(
        .invalid,
        "a streamer's id must be 1…\(Keyspace.maximumIdentifierBytes) bytes of UTF-8 without "
          + "control characters and braces, and must not end in :<digits>:<digits>")
    }
    return streamer
  }

  /// The users of a segment, for a reader. `audience`: what was found out of the event, if
  /// anything. Nothing is sent before `readAhead` or a reader's first `next()`.
  package func users(of segment: Segment, audience: Audience? = nil) -> SegmentUsers {
    let (event, isBulk) = (segment.event, !segment.isOfSmall)
    func list(_ keys: FollowerKeys, _ followers: Int? = nil) -> SegmentUsers {
      SegmentUsers(
        segment,
        .list(
          FollowerSource(
            redis: redis, keys: keys, followers: followers, isBulk: isBulk, options: options)))
    }
    switch segment.slice {
    case .shard(let index, let generation):
      var followers: Int?
      if case .sharded(let shards, _, let count) = audience, shards == 1 { followers = count }
      return list(
        FollowerKeys(
          shard: index, of: segment.count, generation: generation, of: event.streamer,
          keyspace: keyspace), followers)
    case .plain(let key):
      return list(FollowerKeys(plain: key, of: event.streamer, part: (0, 1), keyspace: keyspace))
    case .stragglers(let stragglers):
      return SegmentUsers(segment, .known(FollowerBatch(stragglers)))
    case .named:
      guard case .users(let users) = event.audience else {
        return SegmentUsers(segment, .known(nil))
      }
      return SegmentUsers(segment, .known(FollowerBatch(users)))
    case .part(let index):
      guard case .matching(let expression) = event.audience else {
        return SegmentUsers(segment, .known(nil))
      }
      let lists = UserLists(
        expression.lists, streamer: event.streamer, plainKey: plainKey(of: event.streamer),
        keyspace: keyspace)
      return SegmentUsers(
        segment,
        .selection(
          SelectionSource(
            redis: redis, expression: expression, lists: lists, part: (index, segment.count),
            isBulk: isBulk, options: options)))
    }
  }

  /// Reads the recipients of a segment. `fields` are the profile fields that templates need.
  /// Bindings of exactly this `topic` are addressed, the push type's suffix with it: each type but
  /// alert and background has tokens of its own.
  ///
  /// By `now` (ms since 1970) reading is given up when the event has expired and Redis is still too
  /// slow, or its replies still too large, to read its followers; and hours are quiet. Users who
  /// are read while `isOver` are counted, and sent nothing.
  package func reader(
    of users: SegmentUsers, fields: [String], topic: String,
    now: @escaping () -> Int64, isOver: @escaping () -> Bool = { false }
  ) -> SegmentReader {
    SegmentReader(
      redis: redis, keyspace: keyspace, options: options, weights: weights, source: users,
      fields: fields, topic: topic, now: now, isOver: isOver)
  }

  private func plainKey(of streamer: String) -> String? {
    guard let pattern = options.plainSetKey else { return nil }
    let marker = "{streamer}"
    var key = ""
    var rest = pattern[...]
    while let start = rest.firstRange(of: marker) {
      key += rest[..<start.lowerBound] + streamer
      rest = rest[start.upperBound...]
    }
    return key + rest
  }
}

/// The size of a user's bindings and profile in the last page of a large event that a lane read.
/// The event's next segment begins with it, so that not each asks for a page that is too large
/// first. Of each event for itself: one with heavy users makes nobody else's pages short.
final class UserWeights {
  /// Large events that a lane has segments of at a time are fewer, as a rule.
  private static let maximumEvents = 16
  /// A shorter page says more of one user than of all, unless it says that they are lighter.
  private static let leastUsers = 32

  /// The oldest first.
  private var weights: [(event: String, bytes: Int)] = []

  /// Bytes; 0 before there was a page.
  func bytes(of event: String) -> Int { place(of: event).map { weights[$0].bytes } ?? 0 }

  private func place(of event: String) -> Int? {
    weights.firstIndex { $0.event == event }
  }

  func learn(_ bytes: Int, from users: Int, of event: String) {
    if let place = place(of: event) {
      if users >= Self.leastUsers || bytes < weights[place].bytes { weights[place].bytes = bytes }
    } else if users >= Self.leastUsers {
      if weights.count == Self.maximumEvents { weights.removeFirst() }
      weights.append((event, bytes))
    }
  }
}
