import Subscriptions
import TLS
import Threads

/// The sender's keys of encrypted messages (RFC 8291), and the secrets that they and the keys of
/// subscriptions make. Shared by the lanes of a worker.
///
/// RFC 8291 has a sender make a key pair for each message. One pair for an hour is as confidential,
/// since each message has a salt of its own and thereby a key and a nonce of its own, and the
/// secret of a subscription needs to be computed once: that is most of a message's cost. It gives
/// two things away: who steals the process's memory can read the messages of that hour, and a
/// push service sees which messages have one sender, which it knows from the VAPID key anyway.
package final class MessageEncryption: Sendable {
  package static let usualWindow: Duration = .seconds(3600)

  private struct State: ~Copyable {
    var sender: P256KeyPair?
    /// Nanoseconds.
    var madeAt: UInt64 = 0
    var secrets: SecretTable
  }

  /// Nanoseconds; nil: a pair for each message.
  private let window: UInt64?
  private let monotonic: @Sendable () -> UInt64
  private let state: ThreadLock<State>

  /// - Parameters:
  ///   - window: how long a pair is used.
  ///   - subscriptions: whose secrets are remembered at most, in 128 bytes each.
  ///   - freshKeys: makes a pair for each message, and remembers nothing.
  ///   - monotonic: nanoseconds of a clock that nobody sets.
  package init(
    window: Duration = usualWindow, subscriptions: Int = 65_536, freshKeys: Bool = false,
    monotonic: @escaping @Sendable () -> UInt64
  ) {
    let seconds = max(1, window.components.seconds)
    self.window = freshKeys ? nil : UInt64(seconds) * 1_000_000_000
    self.monotonic = monotonic
    state = ThreadLock(State(secrets: SecretTable(capacity: freshKeys ? 0 : subscriptions)))
  }

  /// Puts the secret of a subscription, and the public key of the sender that it belongs to, into
  /// `schedule`.
  /// - Parameter subscription: `SubscriptionKeys.bytes`.
  func agree(
    with subscription: UnsafeRawBufferPointer, _ schedule: KeySchedule
  ) throws(TLSError) {
    guard let window else {
      return try schedule.agree(P256KeyPair.generate(), subscription)
    }
    let now = monotonic()
    let known = try state.withLock { (state) throws(TLSError) -> (P256KeyPair, isReady: Bool) in
      let sender: P256KeyPair
      if let current = state.sender, now &- state.madeAt < window {
        sender = current
      } else {
        sender = try P256KeyPair.generate()
        state.sender = sender
        state.madeAt = now
        state.secrets.forgetAll()
      }
      return (sender, state.secrets.copy(subscription, to: schedule.inputKey))
    }
    guard !known.isReady else { return schedule.use(known.0) }
    // Without the lock: other lanes need not wait for the curve.
    try schedule.agree(known.0, subscription)
    state.withLock { state in
      guard state.sender === known.0 else { return }
      state.secrets.insert(subscription, schedule.inputKey)
    }
  }
}

/// The secrets of the subscriptions that were sent to last. It is a table of sets of four: a new
/// one takes the place of the oldest of its set, and nothing is allocated.
struct SecretTable: ~Copyable {
  private static let setSize = 4
  private static let secretBytes = HMACSHA256.byteCount
  private static let keyBytes = SubscriptionKeys.byteCount
  /// The keys of the subscription, its secret, then the generation, at an aligned offset.
  private static let generationOffset = 116
  private static let entryBytes = 128

  private let memory: UnsafeMutableRawPointer
  private let sets: Int
  /// Where the next secret of a set goes.
  private let turns: UnsafeMutablePointer<UInt8>
  /// Entries of others are empty.
  private var generation: UInt32 = 1

  init(capacity: Int) {
    sets = capacity / Self.setSize
    let bytes = max(sets * Self.setSize * Self.entryBytes, 1)
    memory = .allocate(byteCount: bytes, alignment: 16)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
    turns = .allocate(capacity: max(sets, 1))
    turns.initialize(repeating: 0, count: max(sets, 1))
  }

  deinit {
    memory.deallocate()
    turns.deallocate()
  }

  mutating func forgetAll() { generation &+= 1 }

  /// False when the subscription's secret is not known.
  func copy(_ subscription: UnsafeRawBufferPointer, to secret: UnsafeMutableRawPointer) -> Bool {
    guard sets > 0, subscription.count == Self.keyBytes else { return false }
    let first = memory + set(of: subscription) * Self.setSize * Self.entryBytes
    for index in 0..<Self.setSize {
      let entry = first + index * Self.entryBytes
      guard entry.load(fromByteOffset: Self.generationOffset, as: UInt32.self) == generation,
        subscription.elementsEqual(UnsafeRawBufferPointer(start: entry, count: Self.keyBytes))
      else { continue }
      secret.copyMemory(from: entry + Self.keyBytes, byteCount: Self.secretBytes)
      return true
    }
    return false
  }

  mutating func insert(_ subscription: UnsafeRawBufferPointer, _ secret: UnsafeRawPointer) {
    guard sets > 0, subscription.count == Self.keyBytes, let keys = subscription.baseAddress
    else { return }
    let set = set(of: subscription)
    let entry = memory + (set * Self.setSize + Int(turns[set])) * Self.entryBytes
    turns[set] = (turns[set] + 1) % UInt8(Self.setSize)
    entry.copyMemory(from: keys, byteCount: Self.keyBytes)
    (entry + Self.keyBytes).copyMemory(from: secret, byteCount: Self.secretBytes)
    entry.storeBytes(of: generation, toByteOffset: Self.generationOffset, as: UInt32.self)
  }

  /// By a hash that is seeded for each process: clients choose their keys.
  private func set(of subscription: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: subscription)
    return Int(UInt(bitPattern: hasher.finalize()) % UInt(sets))
  }
}
