import Keyspace
import Model
import Redis

/// The users for whom an event's expression holds, as far as they are in one part of the fan-out.
/// Each of the lists that tell them is read; of whoever comes from one, Redis is asked whether they
/// are in the others. Lists may be resharded at any time: an answer counts when the headings are
/// the same after it as before. Confined to one lane.
final class SelectionSource {
  private let redis: RedisClient
  private let expression: AudienceExpression
  private let lists: UserLists
  private let part: (index: Int, count: Int)
  private let isBulk: Bool
  private let options: ExpandOptions
  /// Where each list was when it was looked at last; nil before.
  private var places: [UserLists.List: ListPlace]?
  /// Of lists that are still to be read, the one being read first.
  private var sources: [(list: UserLists.List, users: FollowerSource)] = []
  /// Users who came, and were not judged yet.
  private var unjudged: FollowerBatch?
  /// Users of one list, passed over in the next.
  private var seen: SeenUsers?
  private var past = 0

  /// Users that one command asks about: what others wait for behind it takes less than a tenth of
  /// a millisecond.
  private static let usersPerCommand = 500
  /// An error that Redis says instead of an array, and what is kept of each user's answer.
  private static let replyBytes = (head: 512, user: RedisReplies.elementBytes)

  init(
    redis: RedisClient, expression: AudienceExpression, lists: UserLists,
    part: (index: Int, count: Int), isBulk: Bool, options: ExpandOptions
  ) {
    self.redis = redis
    self.expression = expression
    self.lists = lists
    self.part = part
    self.isBulk = isBulk
    self.options = options
  }

  var restarts: Int { past + (sources.first?.users.restarts ?? 0) }

  var remembers: Bool { unjudged != nil || seen != nil }

  func readAhead() async { try? await begin() }

  func finish() {
    for source in sources { source.users.finish() }
    sources = []
    unjudged = nil
    seen = nil
  }

  func nextBatch() async throws(ExpandError) -> FollowerBatch? {
    try await begin()
    while let source = sources.first {
      if unjudged == nil { unjudged = try await source.users.nextBatch() }
      guard var rest = unjudged else {
        past += source.users.restarts
        sources.removeFirst()
        continue
      }
      var batch = rest.takeFirst(options.pageSize)
      let members = try await members(of: batch, from: source.list)
      batch.keep { index, user in
        expression.holds { $0 == source.list || members[$0]?[index] == true }
          && seen?.insert(user) != false
      }
      unjudged = rest.users.isEmpty ? nil : rest
      return batch
    }
    finish()
    return nil
  }

  private func begin() async throws(ExpandError) {
    guard places == nil else { return }
    let places = try await lists.headings(from: redis)
    self.places = places
    let all = expression.sources(places)
    if all.count > 1 { seen = SeenUsers(maximum: options.maximumRememberedUsers) }
    for list in all {
      let (name, keyspace) = lists.name(of: list)
      let keys: FollowerKeys
      switch places[list] {
      case .sharded(let heading):
        keys = FollowerKeys(part: part, of: name, heading, keyspace: keyspace)
      case .plain(let key):
        keys = FollowerKeys(plain: key, of: name, part: part, keyspace: keyspace)
      case nil: continue
      }
      sources.append(
        (list, FollowerSource(redis: redis, keys: keys, isBulk: isBulk, options: options)))
    }
  }

  /// The users of a batch who are in each of the other lists.
  private func members(
    of batch: FollowerBatch, from own: UserLists.List
  ) async throws(ExpandError) -> [UserLists.List: [Bool]] {
    let others = lists.all.filter { $0 != own }
    guard !others.isEmpty, !batch.users.isEmpty else { return [:] }
    while true {
      let known = places ?? [:]
      let answers = try await ask(about: batch, others, known)
      // On a cluster the order of answers says nothing: the headings are read behind them.
      let now = try await lists.headings(from: redis)
      places = now
      if others.allSatisfy({ now[$0]?.key == known[$0]?.key }) { return answers }
    }
  }

  private func ask(
    about batch: FollowerBatch, _ others: [UserLists.List], _ places: [UserLists.List: ListPlace]
  ) async throws(ExpandError) -> [UserLists.List: [Bool]] {
    let pipeline = RedisPipeline(capacity: 64 * 1024)
    var asked: [(list: UserLists.List, key: String, users: ArraySlice<Int>)] = []
    for list in others {
      guard let place = places[list] else { continue }
      for (key, users) in keys(of: list, place, for: batch) {
        for start in stride(from: 0, to: users.count, by: Self.usersPerCommand) {
          let some = users[start..<min(start + Self.usersPerCommand, users.count)]
          asked.append((list, key, some))
          Self.append(key, some.map { batch.bytes[batch.users[$0]] }, to: pipeline)
        }
      }
    }
    let limit = asked.reduce(0) {
      $0 + Self.replyBytes.head + Self.replyBytes.user * $1.users.count
    }
    let replies: RedisReplies
    do {
      replies = try await redis.execute(pipeline, maximumReplyBytes: limit + 4096, isBulk: isBulk)
    } catch {
      throw ExpandError(error)
    }
    var answers: [UserLists.List: [Bool]] = [:]
    for (number, question) in asked.enumerated() {
      let reply = try replies[number].array(from: "SMISMEMBER", key: question.key, wanted: "set")
      guard reply.count == question.users.count else {
        throw ExpandError.unexpected(reply, to: "SMISMEMBER", key: question.key)
      }
      for (place, user) in question.users.enumerated() where reply[place].integer == 1 {
        answers[question.list, default: Array(repeating: false, count: batch.users.count)][user] =
          true
      }
    }
    return answers
  }

  private static func append(
    _ key: String, _ users: [UnsafeRawBufferPointer], to pipeline: RedisPipeline
  ) {
    var (command, key) = ("SMISMEMBER", key)
    command.withUTF8 { command in
      key.withUTF8 { key in
        pipeline.append(
          slices: [UnsafeRawBufferPointer(command), UnsafeRawBufferPointer(key)] + users)
      }
    }
  }

  /// Which key of a list would hold each user of a batch, in the order of the list's shards.
  private func keys(
    of list: UserLists.List, _ place: ListPlace, for batch: FollowerBatch
  ) -> [(key: String, users: [Int])] {
    switch place {
    case .plain(let key): return [(key, Array(batch.users.indices))]
    case .sharded(let heading):
      let (name, keyspace) = lists.name(of: list)
      let shards = Dictionary(grouping: batch.users.indices) {
        Keyspace.shard(of: batch.bytes[batch.users[$0]], shards: heading.shards)
      }
      return shards.sorted { $0.key < $1.key }.map { shard, users in
        (
          keyspace.followerShard(streamer: name, generation: heading.generation, shard: shard),
          users
        )
      }
    }
  }
}

extension ListPlace {
  /// Tells one division of a list from another.
  fileprivate var key: String {
    switch self {
    case .sharded(let heading): "\(heading.generation):\(heading.shards)"
    case .plain(let key): "plain:\(key)"
    }
  }
}
