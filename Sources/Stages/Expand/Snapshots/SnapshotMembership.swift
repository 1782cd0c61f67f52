/// Which snapshots on one server can be trusted. Answers of the registry in, state out; no clock,
/// no socket.
///
///     outside ─looked, epoch is ours────────────────────────────▶ member
///        │                                                          ▲ │
///        └─looked, epoch is another's─▶ watching ─a member vouched──┘ │ the epoch is over
///        ▲                                  twice since               │
///        └────────────────────────────────────────────────────────────┘
///
/// Everybody here hears of each write to users on the server, and deletes the snapshot of who was
/// written to. A member vouches once a second for its batches up to one, after it has heard, and
/// deleted, everything that was written by the time when the last of them was stored. Therefore:
///
/// - a batch that is vouched for holds nothing that was written to between reading and storing;
/// - what was written to later is deleted by each member, and is not there once a member has
///   vouched again for what it heard later still;
/// - who joins has heard everything since before it looked first. A member that vouches twice after
///   that has begun to listen for the second time after the first: all that had been written before
///   the newcomer listened is deleted. So from then on the newcomer can tell by itself.
///
/// When the last member goes, nobody can say what was written since: the registry expires, or names
/// another process, and the next to come begins another epoch, in which nobody has vouched for
/// anything.
struct SnapshotMembership {
  enum State: Equatable {
    case outside
    case watching(SnapshotRegistry)
    case member(SnapshotRegistry)
  }

  /// The second of two vouches since our first look was begun after it.
  private static let vouchesToSee: UInt32 = 2

  /// A member's word that everything up to a batch can be trusted.
  struct Word: Equatable {
    let epoch: String
    let writer: UInt64
    let batch: UInt32
  }

  private(set) var state = State.outside
  private(set) var writer: UInt64
  /// In which what is stored now is.
  private(set) var batch: UInt32 = 1
  private let random: () -> UInt64

  init(random: @escaping () -> UInt64) {
    self.random = random
    writer = random()
  }

  var isMember: Bool { if case .member = state { true } else { false } }

  /// - Parameters:
  ///   - registry: as it is after we looked; nil: it could not be looked at.
  ///   - ours: the epoch that would have been begun.
  mutating func looked(_ registry: SnapshotRegistry?, ours: String) {
    guard !isMember else { return }
    guard let registry else {
      state = .outside
      return
    }
    if registry.epoch == ours { return join(registry) }
    guard case .watching(let first) = state, first.epoch == registry.epoch else {
      state = .watching(registry)
      return
    }
    let hasSeen = registry.batches.contains { writer, batch in
      batch >= (first.batches[writer] ?? 0) + Self.vouchesToSee
    }
    if hasSeen { join(registry) }
  }

  private mutating func join(_ registry: SnapshotRegistry) {
    // What an earlier membership stored is not vouched for again.
    writer = random()
    batch = 1
    state = .member(registry)
  }

  /// What is stored from now on is in another batch. Nil: there is nothing to vouch for.
  mutating func closeBatch() -> Word? {
    guard case .member(let registry) = state, batch < .max else { return nil }
    defer { batch += 1 }
    return Word(epoch: registry.epoch, writer: writer, batch: batch)
  }

  /// Whether the word can still be given: the lane has not left since it closed the batch.
  func canGive(_ word: Word) -> Bool {
    guard case .member(let registry) = state else { return false }
    return registry.epoch == word.epoch && writer == word.writer
  }

  /// - Parameter registry: nil: it did not take the word.
  mutating func gave(_ word: Word, _ registry: SnapshotRegistry?) {
    guard canGive(word) else { return }
    guard let registry, registry.epoch == word.epoch else {
      state = .outside
      return
    }
    state = .member(registry)
  }

  /// What is there cannot be trusted any more.
  mutating func leave() { state = .outside }

  /// What can be trusted of what is asked for from now on. An answer that is older than a vouch may
  /// be older than the deletions before it, too.
  var trust: SnapshotTrust? {
    guard case .member(let registry) = state else { return nil }
    return SnapshotTrust(membership: writer, batches: registry.batches)
  }

  /// For what is stored now; nil: nothing is to be.
  var stamp: SnapshotStamp? { isMember ? SnapshotStamp(writer: writer, batch: batch) : nil }
}
