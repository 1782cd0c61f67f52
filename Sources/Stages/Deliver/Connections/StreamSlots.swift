import Model

/// The pushes in flight on one connection: a fixed table, so that sending allocates nothing. A
/// slot's number travels with its stream.
package final class StreamSlots {
  package struct Slot {
    package var push: ReadyPush
    /// Keeps the bytes that nghttp2 borrows, and says which credential an answer is about.
    var headers: SharedHeaders
    package let sentAt: UInt64
    var stream: Int32
    var isReset = false
  }

  let capacity: Int
  private(set) var inFlight = 0
  /// Where the numbers of the slots in use come first.
  private let order: UnsafeMutablePointer<Int32>
  private let isTaken: UnsafeMutablePointer<Bool>
  /// Of those that are taken.
  private let slots: UnsafeMutablePointer<Slot>

  init(capacity: Int) {
    self.capacity = capacity
    order = .allocate(capacity: capacity)
    isTaken = .allocate(capacity: capacity)
    slots = .allocate(capacity: capacity)
    for slot in 0..<capacity {
      (order + slot).initialize(to: Int32(slot))
      (isTaken + slot).initialize(to: false)
    }
  }

  deinit {
    for slot in occupied { (slots + slot).deinitialize(count: 1) }
    order.deallocate()
    isTaken.deallocate()
    slots.deallocate()
  }

  /// The slot that is filled next; nil when all are taken.
  var next: Int? { inFlight < capacity ? Int(order[inFlight]) : nil }

  /// - Parameter slot: the `next`.
  func fill(_ slot: Int, _ item: Slot) {
    assert(slot == next && !isTaken[slot], "a slot is filled once")
    (slots + slot).initialize(to: item)
    isTaken[slot] = true
    inFlight += 1
  }

  /// Frees a slot; nil when it is not taken.
  func empty(_ slot: Int) -> Slot? {
    guard isTaken[slot] else { return nil }
    isTaken[slot] = false
    inFlight -= 1
    order[inFlight] = Int32(truncatingIfNeeded: slot)
    return (slots + slot).move()
  }

  subscript(slot: Int) -> Slot? { isTaken[slot] ? slots[slot] : nil }

  func setReset(_ slot: Int) { if isTaken[slot] { slots[slot].isReset = true } }

  /// It no longer asks whether credentials are taken, and is reset.
  func giveUpProbe(_ slot: Int) {
    guard isTaken[slot] else { return }
    slots[slot].push.isProbe = false
    slots[slot].push.loss.isGivenUp = true
    slots[slot].isReset = true
  }

  /// The slots in use.
  var occupied: [Int] { (0..<capacity).filter { isTaken[$0] } }
}
