/// A Redis server in memory: what a client's connection gets of it goes through a
/// `MemoryRedisSession`. It has no clock and no randomness; each call says what time it is, in
/// microseconds since 1970. What goes wrong with it goes wrong because somebody calls a method or
/// sets a variable.
///
/// Known to differ from a real server: there is one database, users differ only in the commands
/// that they may not run, and nothing is blocked but by WAIT.
package final class MemoryRedis {
  /// A user of ACLs; the name `default` is whoever names none.
  package struct User: Sendable {
    /// Nil: none is wanted.
    package var password: ByteString?
    /// In small letters; `script|load` for one of a family.
    package var denied: Set<ByteString>

    package init(password: ByteString? = nil, denied: Set<ByteString> = []) {
      self.password = password
      self.denied = denied
    }
  }

  package let host: String
  package let port: Int
  /// Names the process: a restart has another one.
  package private(set) var runIdentifier: String
  /// Names the sequence of writes: a restart and a fail-over begin another one.
  package private(set) var replicationIdentifier: String
  package let store = RedisStore()
  package var users: [ByteString: User] = ["default": User()]

  // MARK: faults

  /// Commands are answered with LOADING, but for those that tell of the server.
  package var isLoading = false
  /// Commands that take memory are answered with OOM.
  package var isOutOfMemory: Bool {
    get { store.isOutOfMemory }
    set { store.isOutOfMemory = newValue }
  }
  /// Sessions above it are refused.
  package var maximumClients = 10_000
  /// Asked after each command: true loses the reply, and ends the session. What was done stays
  /// done.
  package var losesReply: (([ByteString], StoreReply) -> Bool)?

  // MARK: state

  package internal(set) var links: [ReplicaLink] = []
  /// Of a replica: whom it copies.
  package internal(set) weak var source: ReplicaLink?
  /// Bytes of writes since the replication identifier began.
  package internal(set) var offset: Int64 = 0
  private(set) var sessions: [MemoryRedisSession] = []
  private var lastSession: Int64 = 0

  /// - Parameter seed: makes the identifiers; another server has another one.
  package init(host: String = "127.0.0.1", port: Int = 6379, seed: UInt64 = 1) {
    self.host = host
    self.port = port
    runIdentifier = Self.identifier(seed, "run")
    replicationIdentifier = Self.identifier(seed, "replication")
  }

  private static func identifier(_ seed: UInt64, _ purpose: String) -> String {
    SHA1.hexadecimal(Array("\(seed) \(purpose)".utf8)).text
  }

  package var isReplica: Bool { store.isReplica }

  // MARK: connections

  /// A new connection. One too many is told so, and is closed at once.
  package func open() -> MemoryRedisSession {
    sessions.removeAll(where: \.isClosed)
    lastSession += 1
    let session = MemoryRedisSession(of: self, number: lastSession)
    if sessions.count >= maximumClients {
      session.refuse("ERR max number of clients reached")
    } else {
      sessions.append(session)
    }
    return session
  }

  /// Ends all connections; what they sent and was not answered is done or not, as it was.
  package func closeSessions() {
    for session in sessions { session.close() }
    sessions = []
  }

  // MARK: restarts

  /// The process dies and another one starts: with an older image of the data, or with nothing.
  /// Its replicas get that image when they are linked again.
  package func restart(from image: StoreImage = StoreImage(), seed: UInt64) {
    closeSessions()
    for link in links { link.end() }
    source?.end()
    store.image = image
    store.forgetScripts()
    _ = store.takeEffects()
    store.isReplica = false
    runIdentifier = Self.identifier(seed, "run")
    beginHistory(seed)
  }

  func beginHistory(_ seed: UInt64) {
    replicationIdentifier = Self.identifier(seed, "replication")
  }

  func copyHistory(of master: MemoryRedis) {
    replicationIdentifier = master.replicationIdentifier
    offset = master.offset
  }

  /// Gives what was written to the replicas.
  func propagate() {
    let effects = store.takeEffects()
    guard !effects.isEmpty else { return }
    offset += effects.reduce(0) { $0 + Int64(StoreReply.size(of: $1)) }
    for link in links { link.append(effects, offset: offset) }
  }
}
