import Keyspace
import Redis

/// Snapshots of users: for each user who was read one string beside the set of bindings and the
/// profile, which holds both. Read in their place it costs Redis a fraction. The set and the hash
/// stay the truth, whoever writes them: a snapshot is trusted only where nothing can have been
/// written since (`SnapshotMembership`), down to what was written just before the read. Confined to
/// one lane.
final class Snapshots {
  private let redis: RedisClient
  let keyspace: Keyspace
  private let random: () -> UInt64
  private var servers: [ObjectIdentifier: SnapshotServer] = [:]
  /// Fields of profiles that events of this lane have named: what a snapshot holds.
  private var vocabulary: [String] = []
  private var figures = SnapshotFigures()
  private var intervalsToRest = 0
  private var hasReportedVocabulary = false
  private let report: (String) -> Void

  /// Keys of one MGET: what others wait for behind it takes a quarter of a millisecond.
  private static let keysPerCommand = 128
  /// Registries that are tried to find one whose slot a server has: as many as servers, on the
  /// average, and a millisecond's work where there is none.
  private static let maximumRegistries = 2_000
  /// Nobody is stored for so long after a reply that was too large, which costs the connection.
  private static let restIntervals = 60

  init(
    redis: RedisClient, keyspace: Keyspace, random: @escaping () -> UInt64,
    report: @escaping (String) -> Void
  ) {
    self.redis = redis
    self.keyspace = keyspace
    self.random = random
    self.report = report
  }

  /// Before the client's `start`.
  func begin() { redis.track(keysBeginningWith: keyspace.usersPrefix, for: self) }

  /// Whether any of a page's users could be read so.
  var isAnyTrusted: Bool { servers.values.contains { $0.isTrusted } }

  var state: SnapshotFigures {
    var figures = figures
    figures.servers = servers.count
    figures.trustedServers = servers.values.count { $0.isTrusted }
    return figures
  }

  /// The one server when its snapshots can be trusted; nil of a cluster.
  var onlyServer: SnapshotServer? { trusted(redis.trackedServer) }

  /// The server of a cluster whose snapshot of a user can be trusted; nil: there is none now.
  func server(of user: UnsafeRawBufferPointer) -> SnapshotServer? {
    trusted(redis.trackedServer(of: RedisSlot(tag: Keyspace.userTag, user)))
  }

  private func trusted(_ tracked: TrackedServer?) -> SnapshotServer? {
    guard let tracked, let server = servers[ObjectIdentifier(tracked)], server.isTrusted else {
      return nil
    }
    return server
  }

  var isOfCluster: Bool { redis.isCluster }

  // MARK: questions

  /// Asks one server for the snapshots of so many users.
  func question(about count: Int, _ user: (Int) -> UnsafeRawBufferPointer) -> RedisPipeline {
    let pipeline = RedisPipeline(capacity: 64 * 1024)
    let key = keyspace.snapshotParts
    guard !redis.isCluster else {
      // The keys are in several slots.
      let get = RedisCommandTemplate("GET", key: key)
      for index in 0..<count { pipeline.append(get, user(index)) }
      return pipeline
    }
    for start in stride(from: 0, to: count, by: Self.keysPerCommand) {
      pipeline.append("MGET", key: key, count: min(Self.keysPerCommand, count - start)) {
        user(start + $0)
      }
    }
    return pipeline
  }

  /// What was answered of one of them.
  func answer(_ place: Int, in replies: RedisReplies) -> RedisReply {
    redis.isCluster
      ? replies[place] : replies[place / Self.keysPerCommand][place % Self.keysPerCommand]
  }

  // MARK: what is stored

  /// What is kept of profiles, with what is wanted now; nil where that would be too much.
  func vocabulary(with wanted: [String]) -> [String]? {
    for field in wanted where !vocabulary.contains(field) {
      guard vocabulary.count < SnapshotLayout.maximumFields, field.utf8.count <= UInt8.max else {
        if !hasReportedVocabulary {
          hasReportedVocabulary = true
          report(
            "templates name more than \(SnapshotLayout.maximumFields) fields of profiles: events "
              + "with further ones are read without snapshots")
        }
        return nil
      }
      vocabulary.append(field)
    }
    return vocabulary
  }

  /// Whether who has no snapshot may get one.
  var fills: Bool { intervalsToRest == 0 }

  /// What was read to be stored did not come: perhaps it was too much.
  func rest() { intervalsToRest = Self.restIntervals }

  func count(hits: Int, misses: Int, stored: Int) {
    figures.hits += hits
    figures.misses += misses
    figures.stored += stored
  }

  private func registryKey(of server: TrackedServer) -> String? {
    guard redis.isCluster else { return keyspace.snapshotRegistry(0) }
    return (0..<Self.maximumRegistries).lazy.map { self.keyspace.snapshotRegistry($0) }
      .first { self.redis.trackedServer(of: RedisSlot($0)) === server }
  }
}

extension Snapshots: RedisTrackingDelegate {
  func trackingBegan(at server: TrackedServer) {
    servers[ObjectIdentifier(server)] = SnapshotServer(
      server, keyspace: keyspace,
      registryKey: { [weak self, unowned server] in self?.registryKey(of: server) },
      random: random, report: report)
  }

  func trackingEnded(at server: TrackedServer) {
    servers.removeValue(forKey: ObjectIdentifier(server))?.leave(
      because: "it does not tell of writes any more")
  }

  func wereWritten(_ keys: RedisReply, at server: TrackedServer) {
    servers[ObjectIdentifier(server)]?.wereWritten(keys)
  }

  func everythingWasWritten(at server: TrackedServer) {
    servers[ObjectIdentifier(server)]?.everythingWasWritten()
  }

  func intervalPassed(at server: TrackedServer) {
    intervalsToRest = max(0, intervalsToRest - 1)
    servers[ObjectIdentifier(server)]?.intervalPassed()
  }
}
