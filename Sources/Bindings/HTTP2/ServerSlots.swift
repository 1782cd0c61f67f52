/// A server's requests by slot. The table grows to the most streams that were ever open, which is
/// what the session allowed, and those that have ended within one `receive`.
struct ServerSlots {
  private var slots: UnsafeMutablePointer<ServerSlot>
  private(set) var capacity = 0
  private var firstFree = -1

  init() { slots = .allocate(capacity: 1) }

  func deallocate() {
    for slot in 0..<capacity { slots[slot].body?.deallocate() }
    slots.deallocate()
  }

  /// Good until the next `take`.
  subscript(slot: Int) -> UnsafeMutablePointer<ServerSlot> { slots + slot }

  mutating func take(stream: Int32) -> Int {
    if firstFree < 0 { grow() }
    let slot = firstFree
    firstFree = slots[slot].next
    slots[slot] = ServerSlot()
    slots[slot].stream = stream
    return slot
  }

  mutating func free(_ slot: Int) {
    slots[slot].body?.deallocate()
    slots[slot] = ServerSlot()
    slots[slot].next = firstFree
    firstFree = slot
  }

  private mutating func grow() {
    let larger = max(capacity * 2, 64)
    let grown = UnsafeMutablePointer<ServerSlot>.allocate(capacity: larger)
    grown.moveInitialize(from: slots, count: capacity)
    slots.deallocate()
    slots = grown
    for slot in stride(from: larger - 1, through: capacity, by: -1) {
      (slots + slot).initialize(to: ServerSlot())
      slots[slot].next = firstFree
      firstFree = slot
    }
    capacity = larger
  }
}
