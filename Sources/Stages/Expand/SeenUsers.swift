/// Which users of a set that is read by SSCAN have come already: a scan that begins again, because
/// Redis was restarted, gives everybody once more, and any scan may give a member twice. Kept as
/// 64-bit hashes in a table that is at most three quarters full: 11 to 22 bytes a user. Two users
/// of one hash would be taken for one: with 196,608 of them the odds are one in a billion, and the
/// hashes' seed is another in each process, so that nobody can choose ids that collide.
final class SeenUsers {
  private let maximum: Int
  private var count = 0
  private var slots: [UInt64] = Array(repeating: 0, count: 1_024)

  /// Beyond `maximum` users nobody else is remembered: those come again when a scan begins again.
  init(maximum: Int) { self.maximum = maximum }

  /// False when this user has come before.
  func insert(_ user: UnsafeRawBufferPointer) -> Bool {
    var hasher = Hasher()
    hasher.combine(bytes: user)
    // 0 stands for a free slot.
    let hash = max(UInt64(bitPattern: Int64(hasher.finalize())), 1)
    let slot = Self.slot(of: hash, in: slots)
    guard slots[slot] == 0 else { return false }
    guard count < maximum else { return true }
    slots[slot] = hash
    count += 1
    if 4 * count > 3 * slots.count { grow() }
    return true
  }

  private func grow() {
    var larger: [UInt64] = Array(repeating: 0, count: 2 * slots.count)
    for hash in slots where hash != 0 { larger[Self.slot(of: hash, in: larger)] = hash }
    slots = larger
  }

  /// Where a hash stands, or the free slot where it would.
  private static func slot(of hash: UInt64, in slots: [UInt64]) -> Int {
    // The number of slots is a power of two.
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: hash) & mask
    while slots[slot] != 0, slots[slot] != hash { slot = (slot + 1) & mask }
    return slot
  }
}
