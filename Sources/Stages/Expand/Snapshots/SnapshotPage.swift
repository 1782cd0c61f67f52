import Keyspace
import Model
import Redis

/// Reads the users of one page, from snapshots as far as they can be believed. What it returns is
/// what SMEMBERS and HMGET of each user would have answered at one moment since it was called.
struct SnapshotPage {
  private let snapshots: Snapshots
  private let users: [UnsafeRawBufferPointer]
  private let wanted: [String]
  /// What is read of a profile that is to be kept, and where in it what is wanted stands.
  private let kept: [String]
  private let places: [Int]
  private let maximumBytes: Int
  private let isAlone: Bool
  private let mostStored: Int
  private var composition: ReplyComposition
  private var groups: [Group] = []
  /// Who is read as if there were no snapshots.
  private var plain: [Int] = []
  private(set) var hits = 0
  private(set) var stored = 0

  /// Users of a page at one server.
  private final class Group {
    let server: SnapshotServer
    var users: [Int] = []
    var replies: RedisReplies?
    /// Where the server's log of writes was before anything was asked.
    let start: Int
    var hits: [Int] = []
    /// Read the long way, to be stored.
    var read: [Int] = []
    var readReplies: RedisReplies?
    var isFenced = false

    init(_ server: SnapshotServer) {
      self.server = server
      start = server.writes.position
    }
  }

  /// Keys of one MGET: what others wait for behind it takes a quarter of a millisecond.
  private static let keysPerCommand = 128
  /// What a snapshot takes among replies: its bytes, and the arrays that are made of it.
  private static let maximumReplyBytes =
    SnapshotLayout.maximumBytes + 2 * SnapshotLayout.maximumFields * RedisReplies.elementBytes
  /// Of the users of a page, one in so many is stored at a time: after a server's snapshots were
  /// lost, the next fan-out shall not cost it the double.
  private static let storedShare = 4

  /// - Parameters:
  ///   - users: good until the page is read.
  ///   - isCluster: the users' keys are in several slots.
  ///   - storesAtMost: users; else a part of them.
  init?(
    _ snapshots: Snapshots, _ users: [UnsafeRawBufferPointer], wanted: [String],
    maximumBytes: Int, isCluster: Bool, storesAtMost: Int? = nil
  ) {
    guard let kept = snapshots.fields(for: wanted) else { return nil }
    self.snapshots = snapshots
    self.users = users
    self.wanted = wanted
    self.kept = kept
    self.maximumBytes = maximumBytes
    places = wanted.map { kept.firstIndex(of: $0) ?? -1 }
    isAlone = !isCluster
    mostStored = storesAtMost ?? max(1, users.count / Self.storedShare)
    composition = ReplyComposition(count: 2 * users.count)
  }

  /// - Parameters:
  ///   - plainly: reads users, by their places in the page, without snapshots.
  /// - Returns: two replies a user: SMEMBERS' and HMGET's.
  mutating func read(
    plainly: ([Int]) async throws(RedisError) -> RedisReplies
  ) async throws(RedisError) -> RedisReplies {
    group()
    await ask()
    take()
    let fences = Rendezvous(groups.count)
    for group in groups {
      group.server.server.fence {
        group.isFenced = true
        fences.leave()
      }
    }
    await readToStore()
    try await read(plain, plainly)
    await fences.wait()
    try await read(whatWasWritten(), plainly)
    store()
    snapshots.count(hits: hits, misses: users.count - hits, stored: stored)
    return composition.replies()
  }

  private mutating func group() {
    var last: Group?
    for index in users.indices {
      guard let server = snapshots.server(of: users[index]) else {
        plain.append(index)
        continue
      }
      if last?.server !== server {
        last = groups.first { $0.server === server }
        if last == nil {
          let new = Group(server)
          groups.append(new)
          last = new
        }
      }
      last?.users.append(index)
    }
  }

  // MARK: snapshots

  private func ask() async {
    let key = snapshots.keyspace.snapshotParts
    let answers = Rendezvous(groups.count)
    for group in groups {
      let pipeline = RedisPipeline(capacity: 64 * 1024)
      if isAlone {
        for start in stride(from: 0, to: group.users.count, by: Self.keysPerCommand) {
          let count = min(Self.keysPerCommand, group.users.count - start)
          pipeline.append("MGET", key: key, count: count) { users[group.users[start + $0]] }
        }
      } else {
        let get = RedisCommandTemplate("GET", key: key)
        for user in group.users { pipeline.append(get, users[user]) }
      }
      let most = group.users.count * Self.maximumReplyBytes
      group.server.server.send(pipeline, maximumReplyBytes: most) {
        group.replies = $0
        answers.leave()
      }
    }
    await answers.wait()
  }

  /// Sorts the users: who has a snapshot, who is to get one, who is read as ever.
  private mutating func take() {
    var room = mostStored
    var reader = SnapshotReader(fields: wanted)
    for group in groups {
      guard let replies = group.replies else {
        plain += group.users
        continue
      }
      var trusted: (writer: UInt64, batch: UInt32)?
      let canStore = group.server.stamp != nil
      for (place, user) in group.users.enumerated() {
        let reply =
          isAlone
          ? replies[place / Self.keysPerCommand][place % Self.keysPerCommand] : replies[place]
        let content = content(reply, of: group.server, &trusted, &reader)
        switch content {
        case .whole(let bindings, let profile):
          group.hits.append(user)
          composition.set(2 * user, to: bindings)
          composition.set(2 * user + 1, to: profile)
        case .none where canStore && room > 0 && reply.error == nil:
          room -= 1
          group.read.append(user)
        case .none, .unfit: plain.append(user)
        }
      }
    }
  }

  private func content(
    _ reply: RedisReply, of server: SnapshotServer,
    _ trusted: inout (writer: UInt64, batch: UInt32)?, _ reader: inout SnapshotReader
  ) -> SnapshotReader.Content {
    guard reply.kind == .string, let stamp = reply.bytes.flatMap(SnapshotReader.stamp) else {
      return .none
    }
    if trusted?.writer != stamp.writer {
      guard let batch = server.trustedBatch(of: stamp.writer) else { return .none }
      trusted = (stamp.writer, batch)
    }
    guard let trusted, stamp.batch <= trusted.batch else { return .none }
    return reader.read(reply)
  }

  // MARK: the long way

  /// For those who are to be stored, from the server that would tell of writes.
  private mutating func readToStore() async {
    let keyspace = snapshots.keyspace
    let commands = [
      RedisCommandTemplate("SMEMBERS", key: keyspace.bindingsParts),
      RedisCommandTemplate("HMGET", key: keyspace.profileParts, after: kept),
      RedisCommandTemplate("PTTL", key: keyspace.bindingsParts),
      RedisCommandTemplate("PTTL", key: keyspace.profileParts),
    ]
    let reading = groups.filter { !$0.read.isEmpty }
    let answers = Rendezvous(reading.count)
    for group in reading {
      let pipeline = RedisPipeline(capacity: 32 * 1024)
      for user in group.read {
        for command in commands { pipeline.append(command, users[user]) }
      }
      let share = maximumBytes / max(1, reading.count)
      group.server.server.send(pipeline, maximumReplyBytes: share) {
        group.readReplies = $0
        answers.leave()
      }
    }
    await answers.wait()
    for group in reading { takeRead(group, commands.count) }
  }

  private mutating func takeRead(_ group: Group, _ stride: Int) {
    guard let replies = group.readReplies else {
      plain += group.read
      group.read = []
      return
    }
    var sound: [Int] = []
    for (place, user) in group.read.enumerated() {
      let bindings = replies[stride * place]
      guard bindings.kind == .array,
        let profile = replies[stride * place + 1].array(selecting: places)
      else {
        plain.append(user)
        // Its place among the replies stays.
        sound.append(-1)
        continue
      }
      composition.set(2 * user, to: bindings)
      composition.set(2 * user + 1, to: profile)
      sound.append(user)
    }
    group.read = sound
  }

  private mutating func read(
    _ some: [Int], _ plainly: ([Int]) async throws(RedisError) -> RedisReplies
  ) async throws(RedisError) {
    guard !some.isEmpty else { return }
    let replies = try await plainly(some)
    for (place, user) in some.enumerated() {
      composition.set(2 * user, to: replies[2 * place])
      composition.set(2 * user + 1, to: replies[2 * place + 1])
    }
  }

  /// Whose snapshots cannot be believed after all.
  private mutating func whatWasWritten() -> [Int] {
    var again: [Int] = []
    for group in groups {
      let isHeard = group.isFenced && group.server.isMember
      let writes = isHeard ? group.server.writes.writes(since: group.start) : .toEverybody
      guard writes != .to([]) else {
        hits += group.hits.count
        continue
      }
      let written = group.hits.filter { writes.include(users[$0]) }
      hits += group.hits.count - written.count
      again += written
    }
    return again
  }

  // MARK: storing

  /// What nobody wrote to since before it was read.
  private mutating func store() {
    var writer = SnapshotWriter(key: snapshots.keyspace.snapshotParts)
    let fields = kept.map { Array($0.utf8) }
    for group in groups {
      guard let replies = group.readReplies, let stamp = group.server.stamp else { continue }
      let writes = group.server.writes.writes(since: group.start)
      let pipeline = RedisPipeline(capacity: 32 * 1024)
      for (place, user) in group.read.enumerated()
      where user >= 0 && !writes.include(users[user]) {
        writer.append(
          users[user], bindings: replies[4 * place], profile: replies[4 * place + 1],
          fields: fields, isLasting: Self.isLasting(replies, 4 * place + 2), stamp,
          to: pipeline)
      }
      stored += pipeline.count
      group.server.server.send(pipeline) { _ in }
    }
  }

  /// Neither of two keys expires: -1, or -2 where there is none.
  private static func isLasting(_ replies: RedisReplies, _ index: Int) -> Bool {
    (index...index + 1).allSatisfy { (replies[$0].integer ?? 0) < 0 }
  }
}
