import Keyspace
import Redis

/// The snapshots on one server: hears of writes to users and deletes what they make wrong, vouches
/// for what this lane stored, and knows what can be trusted (`SnapshotMembership`). Confined to one
/// lane.
final class SnapshotServer {
  let server: TrackedServer
  private let keyspace: Keyspace
  private let registryKey: () -> String?
  private let random: () -> UInt64
  private var membership: SnapshotMembership
  private(set) var writes = WriteLog()
  private var deletions = RedisPipeline()
  private let deletion: RedisCommandTemplate
  private var isVouching = false
  private var isLooking = false
  private var intervals = 0
  /// Whether Redis has room for more.
  private var hasRoom = true
  private let note: (String) -> Void

  /// Of a server with a limit of memory, the part up to which snapshots may fill it.
  private static let fullAt = 0.75
  /// Every so many intervals it is asked how much there is.
  private static let intervalsPerLook = 10

  /// - Parameters:
  ///   - registryKey: a key that the server serves; nil: none is known now.
  ///   - note: a line for the log.
  init(
    _ server: TrackedServer, keyspace: Keyspace, registryKey: @escaping () -> String?,
    random: @escaping () -> UInt64, note: @escaping (String) -> Void
  ) {
    self.server = server
    self.keyspace = keyspace
    self.registryKey = registryKey
    self.random = random
    self.note = note
    membership = SnapshotMembership(random: random)
    deletion = RedisCommandTemplate("DEL", key: keyspace.snapshotParts)
  }

  /// Snapshots of the server can be read.
  var isMember: Bool { membership.isMember && server.isTracking }

  /// For what is stored now; nil: nothing is to be.
  var stamp: SnapshotStamp? { hasRoom && server.isTracking ? membership.stamp : nil }

  func trustedBatch(of writer: UInt64) -> UInt32? { membership.trustedBatch(of: writer) }

  // MARK: what is written

  func wereWritten(_ keys: RedisReply) {
    keys.forEachElement { _, kind, key in
      guard kind == .string, let user = keyspace.user(ofRead: key) else { return }
      writes.note(user)
      deletions.append(deletion, user)
    }
    sendDeletions()
  }

  func everythingWasWritten() {
    writes.noteEverybody()
    leave(because: nil)
  }

  /// In front of whatever is read or vouched for after them.
  private func sendDeletions() {
    guard deletions.count > 0 else { return }
    let pipeline = deletions
    deletions = RedisPipeline()
    server.send(pipeline) { [weak self] replies in
      guard let self else { return }
      if let error = replies?.firstError {
        // A slot has gone elsewhere, and may come back with what nobody has deleted there.
        end(because: error.word)
      } else if replies == nil {
        leave(because: nil)
      }
    }
  }

  // MARK: each interval

  func intervalPassed() {
    intervals += 1
    if membership.isMember { vouch() } else { look() }
  }

  private func look() {
    guard !isLooking, let key = registryKey() else { return }
    isLooking = true
    let nonce = String(random(), radix: 16)
    let run = server.runIdentifier
    let call = [
      "EVAL", SnapshotRegistry.look, "1", key, run, nonce, "\(SnapshotRegistry.maximumWriters)",
      "\(SnapshotRegistry.lifetimeMilliseconds)",
    ]
    server.send(RedisPipeline(call)) { [weak self] replies in
      guard let self else { return }
      isLooking = false
      if let error = replies?.firstError { tellOnce("its registry is refused: \(error.word)") }
      let registry = replies.flatMap { SnapshotRegistry($0[0]) }
      membership.looked(registry, ours: "\(run):\(nonce)")
      guard membership.isMember else { return }
      told = nil
      note("snapshots of users are read at \(server.name)")
      askForRoom()
    }
  }

  /// First, what was stored is there, and all that was written by then has been heard.
  private func vouch() {
    guard !isVouching, let word = membership.closeBatch() else { return }
    isVouching = true
    if intervals % Self.intervalsPerLook == 0 { askForRoom() }
    server.send(RedisPipeline(["PING"])) { [weak self] replies in
      guard let self else { return }
      guard replies != nil else { return vouched(nil) }
      server.fence { [weak self] in self?.heard(word) }
    }
  }

  private func heard(_ word: (epoch: String, writer: UInt64, batch: UInt32)) {
    guard server.isTracking, let key = registryKey() else { return vouched(nil) }
    sendDeletions()
    let call = [
      "EVAL", SnapshotRegistry.vouch, "1", key, word.epoch, String(word.writer, radix: 16),
      "\(word.batch)", "\(SnapshotRegistry.lifetimeMilliseconds)",
    ]
    server.send(RedisPipeline(call)) { [weak self] replies in self?.vouched(replies) }
  }

  private func vouched(_ replies: RedisReplies?) {
    isVouching = false
    guard membership.isMember else { return }
    membership.vouched(replies.flatMap { SnapshotRegistry($0[0]) })
    guard !membership.isMember else { return }
    tellOnce(replies?.firstError?.word ?? "nobody vouched for them in time")
  }

  private func askForRoom() {
    server.send(RedisPipeline(["INFO", "memory"])) { [weak self] replies in
      guard let self, let replies, let information = RedisInformation(replies[0]),
        let used = information["used_memory"].flatMap({ Double($0) }),
        let most = information["maxmemory"].flatMap({ Double($0) })
      else { return }
      let had = hasRoom
      hasRoom = most == 0 || used < most * Self.fullAt
      if had, !hasRoom { note("\(server.name) is filling up: no snapshots are stored there") }
    }
  }

  // MARK: what ends

  /// For everybody.
  private func end(because why: String) {
    guard case .member(let registry) = membership.state else { return leave(because: why) }
    leave(because: why)
    guard let key = registryKey() else { return }
    server.send(RedisPipeline(["EVAL", SnapshotRegistry.end, "1", key, registry.epoch])) { _ in }
  }

  func leave(because why: String?) {
    guard membership.isMember else { return }
    membership.leave()
    if let why { tellOnce(why) }
  }

  private var told: String?

  private func tellOnce(_ why: String) {
    guard told != why else { return }
    told = why
    note("snapshots of users are not read at \(server.name): \(why)")
  }
}
