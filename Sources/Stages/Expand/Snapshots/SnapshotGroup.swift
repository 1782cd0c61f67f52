import Keyspace
import Redis

/// Users of one page at one server. Confined to one lane.
final class SnapshotGroup {
  let server: SnapshotServer
  /// By their places in the page.
  var users: [Int]
  /// Their snapshots; nil: none has come.
  var replies: RedisReplies?
  /// Who is read from a snapshot.
  private(set) var hits: [Int] = []
  /// Who is read the long way, to get a snapshot.
  private(set) var toFill: [Int] = []
  private var filled: [Filled] = []
  private var fillReplies: RedisReplies?
  /// Where the server's log of writes was before anything was asked.
  private let start: Int
  /// As it was then, too.
  private var trust: SnapshotTrust?

  /// What was read of a user, for a snapshot.
  private struct Filled {
    let user: Int
    let bindings: RedisReply
    let profile: RedisReply
    /// Each write to either of the two keys would be told of.
    let isTold: Bool
  }

  /// Of the users at a server, one in so many gets a snapshot at a time: after a server's snapshots
  /// were lost, the next fan-out shall not cost it the double.
  private static let filledShare = 4

  init(_ server: SnapshotServer, users: [Int]) {
    self.server = server
    self.users = users
    start = server.writes.position
    trust = server.trust
  }

  /// What was written to since before anything was asked.
  private var writes: WriteLog.Writes { server.writes.writes(since: start) }

  /// Whose snapshots cannot be trusted after all: behind the fence.
  func takeBack(_ users: [UnsafeRawBufferPointer]) -> [Int] {
    guard !hits.isEmpty else { return [] }
    guard let trust, server.trust?.membership == trust.membership else { return hits }
    let writes = writes
    return hits.filter { writes.include(users[$0]) }
  }

  /// - Parameter take: gets the replies of who has a snapshot.
  /// - Returns: who is read as ever.
  func sort(
    _ reader: inout SnapshotReader, _ snapshots: Snapshots,
    _ take: (_ user: Int, _ bindings: RedisReply, _ profile: RedisReply) -> Void
  ) -> [Int] {
    guard let replies else { return users }
    if let error = replies.firstError, ![.moved, .ask, .tryAgain].contains(error.kind) {
      server.giveUp(because: error.word)
      return users
    }
    var plain: [Int] = []
    let canFill = server.stamp != nil && snapshots.fills
    let mostToFill = max(1, users.count / Self.filledShare)
    hits.reserveCapacity(users.count)
    for (place, user) in users.enumerated() {
      let reply = snapshots.answer(place, in: replies)
      switch content(reply, &reader) {
      case .whole(let bindings, let profile):
        hits.append(user)
        take(user, bindings, profile)
      case .absent where canFill && toFill.count < mostToFill && reply.error == nil:
        toFill.append(user)
      case .absent, .unfit: plain.append(user)
      }
    }
    return plain
  }

  private func content(
    _ reply: RedisReply, _ reader: inout SnapshotReader
  ) -> SnapshotReader.Content {
    guard reply.kind == .string, let stamp = reply.bytes.flatMap(SnapshotReader.stamp),
      trust?.includes(stamp) == true
    else { return .absent }
    return reader.read(reply)
  }

  // MARK: the long way

  private static let repliesAUser = 4

  /// - Parameter fields: of profiles, to be kept.
  func fill(
    _ users: [UnsafeRawBufferPointer], _ keyspace: Keyspace, _ fields: [String],
    maximumBytes: Int, whenDone: @escaping () -> Void
  ) {
    let commands = [
      RedisCommandTemplate("SMEMBERS", key: keyspace.bindingsParts),
      RedisCommandTemplate("HMGET", key: keyspace.profileParts, after: fields),
      RedisCommandTemplate("PTTL", key: keyspace.bindingsParts),
      RedisCommandTemplate("PTTL", key: keyspace.profileParts),
    ]
    let pipeline = RedisPipeline(capacity: 32 * 1024)
    for user in toFill {
      for command in commands { pipeline.append(command, users[user]) }
    }
    server.server.send(pipeline, maximumReplyBytes: maximumBytes) { [self] in
      fillReplies = $0
      whenDone()
    }
  }

  var isFilled: Bool { fillReplies != nil }

  /// What was read for snapshots takes so much.
  var filledBytes: Int { fillReplies?.byteCount ?? 0 }

  /// - Parameters:
  ///   - places: where among the fields that are kept those are that are wanted.
  ///   - take: gets the replies of who was read.
  /// - Returns: who is read as ever.
  func takeFilled(
    _ places: [Int], inCluster: Bool,
    _ take: (_ user: Int, _ bindings: RedisReply, _ profile: RedisReply) -> Void
  ) -> [Int] {
    guard let replies = fillReplies else { return toFill }
    var plain: [Int] = []
    for (place, user) in toFill.enumerated() {
      let first = Self.repliesAUser * place
      let (bindings, profile) = (replies[first], replies[first + 1])
      guard bindings.kind == .array, let wanted = profile.array(selecting: places) else {
        plain.append(user)
        continue
      }
      take(user, bindings, wanted)
      let lifetimes = (first + 2...first + 3).map { replies[$0] }
      if let error = lifetimes.compactMap(\.error).first {
        server.giveUp(because: error.word)
        continue
      }
      let isTold = lifetimes.allSatisfy { Self.isTold($0.integer ?? 0, inCluster: inCluster) }
      filled.append(Filled(user: user, bindings: bindings, profile: profile, isTold: isTold))
    }
    return plain
  }

  /// - Parameter lifetime: PTTL's answer: -1 of a key that lasts, -2 where there is none. Of a key
  ///   that ends we would hear late. While a slot is moved, what is written to a key that is not
  ///   there is written at another node, and told of there.
  private static func isTold(_ lifetime: Int64, inCluster: Bool) -> Bool {
    lifetime == -1 || lifetime == -2 && !inCluster
  }

  /// Stores who was read, but for whom anybody has written to since before that.
  /// - Returns: how many.
  func store(
    _ users: [UnsafeRawBufferPointer], _ keyspace: Keyspace, _ fields: [String]
  ) -> Int {
    guard !filled.isEmpty, let stamp = server.stamp else { return 0 }
    var writer = SnapshotWriter(key: keyspace.snapshotParts, fields: fields)
    let writes = writes
    let pipeline = RedisPipeline(capacity: 32 * 1024)
    for one in filled where !writes.include(users[one.user]) {
      writer.append(
        users[one.user], bindings: one.bindings, profile: one.profile, isTold: one.isTold,
        stamp, to: pipeline)
    }
    server.server.send(pipeline) { _ in }
    return pipeline.count
  }
}
