import Keyspace
import Redis

/// Snapshots of users: for each user who was read one string beside the set of bindings and the
/// profile, which holds both. Read in their place it costs Redis half. The set and the hash stay
/// the truth, whoever writes them: a snapshot is believed only where nothing can have been written
/// since (`SnapshotMembership`), down to what was written just before the read. Confined to one
/// lane.
final class Snapshots {
  private let redis: RedisClient
  let keyspace: Keyspace
  private let random: () -> UInt64
  private var servers: [ObjectIdentifier: SnapshotServer] = [:]
  /// Fields of profiles that events of this lane have named: what a snapshot holds.
  private(set) var vocabulary: [String] = []
  private(set) var figures = SnapshotFigures()
  private let note: (String) -> Void
  private let prefix: String

  /// Registries that are tried to find one whose slot a server has.
  private static let maximumRegistries = 16_384

  init(
    redis: RedisClient, keyspace: Keyspace, random: @escaping () -> UInt64,
    note: @escaping (String) -> Void
  ) {
    self.redis = redis
    self.keyspace = keyspace
    self.random = random
    self.note = note
    prefix = keyspace.usersPrefix
  }

  /// Before the client's `start`.
  func begin() { redis.track(keysBeginningWith: prefix, for: self) }

  /// Whether any of a page's users could be read so.
  var areTrusted: Bool { servers.values.contains { $0.isMember } }

  var state: SnapshotFigures {
    var figures = figures
    figures.servers = servers.count
    figures.trustedServers = servers.values.filter(\.isMember).count
    return figures
  }

  /// The server whose snapshot of a user can be read; nil: there is none now.
  func server(of user: UnsafeRawBufferPointer) -> SnapshotServer? {
    let tracked =
      redis.isCluster
      ? redis.trackedServer(of: RedisSlot(tag: Keyspace.userTag, user)) : redis.trackedServer
    guard let tracked, let server = servers[ObjectIdentifier(tracked)], server.isMember else {
      return nil
    }
    return server
  }

  /// Adds what is wanted of profiles to what is kept of them; nil where that is too much.
  func fields(for wanted: [String]) -> [String]? {
    for field in wanted where !vocabulary.contains(field) {
      guard vocabulary.count < SnapshotLayout.maximumFields, field.utf8.count <= UInt8.max else {
        return nil
      }
      vocabulary.append(field)
    }
    return vocabulary
  }

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
  package func trackingBegan(at server: TrackedServer) {
    servers[ObjectIdentifier(server)] = SnapshotServer(
      server, keyspace: keyspace,
      registryKey: { [weak self, unowned server] in self?.registryKey(of: server) },
      random: random, note: note)
  }

  package func trackingEnded(at server: TrackedServer) {
    servers.removeValue(forKey: ObjectIdentifier(server))?.leave(
      because: "it does not tell of writes any more")
  }

  package func wereWritten(_ keys: RedisReply, at server: TrackedServer) {
    servers[ObjectIdentifier(server)]?.wereWritten(keys)
  }

  package func everythingWasWritten(at server: TrackedServer) {
    servers[ObjectIdentifier(server)]?.everythingWasWritten()
  }

  package func intervalPassed(at server: TrackedServer) {
    servers[ObjectIdentifier(server)]?.intervalPassed()
  }
}
