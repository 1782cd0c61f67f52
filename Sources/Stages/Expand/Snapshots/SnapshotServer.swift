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
  private let deletion: RedisCommandTemplate
  private let report: (String) -> Void
  private var membership: SnapshotMembership
  private(set) var writes = WriteLog()
  private var room = RoomWatch()
  /// What is asked of the registry: one thing at a time.
  private var isAsking = false
  /// The registry that the membership is in.
  private var key = ""
  /// The server refuses what reading needs, as long as the connections last.
  private var isGivenUp = false
  private var reported: String?

  /// - Parameters:
  ///   - registryKey: a key that the server serves; nil: none is known now.
  ///   - report: a line for the log.
  init(
    _ server: TrackedServer, keyspace: Keyspace, registryKey: @escaping () -> String?,
    random: @escaping () -> UInt64, report: @escaping (String) -> Void
  ) {
    self.server = server
    self.keyspace = keyspace
    self.registryKey = registryKey
    self.random = random
    self.report = report
    membership = SnapshotMembership(random: random)
    deletion = RedisCommandTemplate("DEL", key: keyspace.snapshotParts)
  }

  /// Snapshots of the server can be read.
  var isTrusted: Bool { membership.isMember && server.isTracking && !isGivenUp }

  /// Of what is asked for from now on; nil: nothing is trusted.
  var trust: SnapshotTrust? { isTrusted ? membership.trust : nil }

  /// For what is stored now; nil: nothing is to be.
  var stamp: SnapshotStamp? { room.isThere && isTrusted ? membership.stamp : nil }

  // MARK: what is written

  /// The deletions go out at once: what is read or vouched for later goes behind them.
  func wereWritten(_ keys: RedisReply) {
    let pipeline = RedisPipeline()
    keys.forEachElement { _, kind, key in
      guard kind == .string, let user = keyspace.user(ofRead: key) else { return }
      writes.note(user)
      pipeline.append(deletion, user)
    }
    guard pipeline.count > 0 else { return }
    server.send(pipeline) { [weak self] replies in
      if replies == nil {
        self?.leave(because: "what was written to could not be deleted")
      } else if let error = replies?.firstError {
        // A slot has gone elsewhere, and may come back with what nobody has deleted there.
        self?.endEpoch(because: "a deletion was refused: \(error.word)")
      }
    }
  }

  func everythingWasWritten() {
    writes.noteEverybody()
    leave(because: "the server was emptied, or has got another data set")
  }

  // MARK: each interval

  func intervalPassed() {
    if room.looksNow() { lookForRoom() }
    guard !isAsking, !isGivenUp else { return }
    if membership.isMember { vouch() } else { look() }
  }

  /// Behind a fence: a server that cannot be heard from is not joined.
  private func look() {
    guard let registry = registryKey() else { return }
    if registry != key { membership.leave() }
    key = registry
    isAsking = true
    server.fence { [weak self] in self?.askRegistry() }
  }

  private func askRegistry() {
    guard server.isTracking else {
      isAsking = false
      return
    }
    let nonce = String(random(), radix: 16)
    let run = server.runIdentifier
    server.send(SnapshotRegistry.look(key, run: run, nonce: nonce)) { [weak self] replies in
      guard let self else { return }
      isAsking = false
      if let error = replies?.firstError { reportOnce("its registry is refused: \(error.word)") }
      membership.looked(replies.flatMap { SnapshotRegistry($0[0]) }, ours: "\(run):\(nonce)")
      guard membership.isMember else { return }
      reported = nil
      report("snapshots of users are read at \(server.name)")
    }
  }

  /// First, what was stored is there; then all that was written by that time has been heard; then
  /// it has been deleted.
  private func vouch() {
    guard let word = membership.closeBatch() else { return }
    isAsking = true
    whenDone(word) { [weak self] in
      self?.server.fence { [weak self] in
        self?.whenDone(word) { [weak self] in self?.give(word) }
      }
    }
  }

  /// What was sent before has been answered.
  private func whenDone(_ word: SnapshotMembership.Word, _ next: @escaping () -> Void) {
    server.send(RedisPipeline(["PING"])) { [weak self] replies in
      guard let self else { return }
      if replies == nil { gave(word, nil, else: "it does not answer") } else { next() }
    }
  }

  private func give(_ word: SnapshotMembership.Word) {
    guard server.isTracking, membership.canGive(word) else {
      return gave(word, nil, else: "it does not tell of writes any more")
    }
    server.send(SnapshotRegistry.vouch(key, word)) { [weak self] replies in
      let why = replies == nil ? "it does not answer" : "nobody vouched for them in time"
      self?.gave(word, replies, else: why)
    }
  }

  private func gave(
    _ word: SnapshotMembership.Word, _ replies: RedisReplies?, else why: String
  ) {
    isAsking = false
    let wasMember = membership.isMember
    membership.gave(word, replies.flatMap { SnapshotRegistry($0[0]) })
    guard wasMember, !membership.isMember else { return }
    reportOnce(replies?.firstError.map { "its registry is refused: \($0.word)" } ?? why)
  }

  private func lookForRoom() {
    server.send(RedisPipeline(["INFO", "memory"])) { [weak self] replies in
      guard let self, let replies, let information = RedisInformation(replies[0]) else { return }
      let wasThere = room.isThere
      room.take(used: information["used_memory"], most: information["maxmemory"])
      guard wasThere != room.isThere else { return }
      report(
        room.isThere
          ? "\(server.name) has room again: snapshots are stored there"
          : "\(server.name) is filling up: no snapshots are stored there")
    }
  }

  // MARK: what ends

  /// For everybody.
  private func endEpoch(because why: String) {
    guard case .member(let registry) = membership.state else { return leave(because: why) }
    leave(because: why)
    server.send(SnapshotRegistry.end(key, epoch: registry.epoch)) { _ in }
  }

  /// Also of who is only watching: what it has not deleted it cannot vouch for later.
  func leave(because why: String) {
    let wasMember = membership.isMember
    membership.leave()
    if wasMember { reportOnce(why) }
  }

  /// Until there are other connections.
  func giveUp(because why: String) {
    isGivenUp = true
    leave(because: "what is read of them is refused: \(why)")
  }

  private func reportOnce(_ why: String) {
    guard reported != why else { return }
    reported = why
    report("snapshots of users are not read at \(server.name): \(why)")
  }
}
