/// The outcomes of single pushes of one segment, and of users to whom nothing was sent, for the
/// backend's own analytics: of all users, or of a share of them, which are the same in every event.
/// A segment publishes them before it settles, so that none is lost with a worker. Confined to one
/// lane.
package final class OutcomeReports {
  package struct Report {
    /// Of the event, the user and the device: the same however often it is written.
    package let identifier: (low: UInt64, high: UInt64)
    package let user: ByteSlice
    /// `DeviceMark`; 0: it is about the user, and not about one device.
    package let device: UInt32
    /// nil: it is about the user.
    package let destination: Destination?
    package let fate: NotedFate
    /// Requests that left for the push.
    package let sends: Int
    /// Ms since 1970.
    package let at: Int64
  }

  /// A segment that is being sent publishes when there are so many.
  package static let publishedAt = 1_024
  /// Of users' ids: as `OutcomeNotes` has them.
  private static let usualIDBytes = 32

  /// The most that a segment should keep: what it publishes at, and the pushes in flight meanwhile.
  /// - Parameter pushes: of the segment, in flight.
  package static func maximumBytes(pushes: Int) -> Int {
    (publishedAt + pushes) * (MemoryLayout<Report>.stride + usualIDBytes)
  }

  package private(set) var all: [Report] = []
  package private(set) var bytes = ByteArena(capacity: 64)
  private let seed: (low: UInt64, high: UInt64)
  private let share: Double
  private let now: () -> Int64

  /// - Parameters:
  ///   - event: its id.
  ///   - share: of the users, more than 0, at most 1.
  ///   - now: ms since 1970.
  package init(event: String, share: Double, now: @escaping () -> Int64) {
    seed = StableHash.of(event, 0x4528_21E6_38D0_1377, 0xBE54_66CF_34E9_0C6C)
    self.share = share
    self.now = now
  }

  package var keptBytes: Int { bytes.capacity + all.capacity * MemoryLayout<Report>.stride }

  /// - Parameter member: what the user's set of bindings holds; nothing: the whole user.
  package func add(
    user: UnsafeRawBufferPointer, member: UnsafeRawBufferPointer, _ fate: NotedFate, sends: Int
  ) {
    guard fate != .waiting, share >= 1 || Self.isSampled(user, share) else { return }
    let own = StableHash.of(user, seed.low, seed.high)
    let destination =
      member.isEmpty
      ? nil : Destination(ofMember: String(decoding: member.prefix(32), as: UTF8.self))
    all.append(
      Report(
        identifier: StableHash.of(member, own.low, own.high), user: bytes.append(user),
        device: DeviceMark.of(member), destination: destination, fate: fate, sends: sends,
        at: now()))
  }

  /// Whether a user is among a share of all: the same in every process, whatever the event.
  package static func isSampled(_ user: UnsafeRawBufferPointer, _ share: Double) -> Bool {
    let hash = StableHash.of(user, 0xC0AC_29B7_C97C_50DD, 0x3F84_D5B5_B547_0917)
    return Double(hash.low >> 11) / Double(1 << 53) < share
  }

  /// They are published.
  package func removeAll() {
    all = []
    bytes = ByteArena(capacity: 64)
  }
}
