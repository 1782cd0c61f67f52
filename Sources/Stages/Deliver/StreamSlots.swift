import Model

/// The pushes in flight on one connection: a fixed table, so that sending allocates nothing. A
/// slot's number travels with its stream.
struct StreamSlots {
  struct Slot {
    var push: ReadyPush
    /// Keeps the bytes that nghttp2 borrows, and says which token an answer is about.
    var headers: EncodedHeaders
    var sentAt: UInt64
    var stream: Int32
    /// 0 until the response head has come.
    var status: Int32 = 0
    var isReset = false
  }

  private let slots: UnsafeMutablePointer<Slot?>
  /// `:path` of each slot: its constant beginning, then the token.
  private let paths: UnsafeMutableRawPointer
  private var free: [Int32]
  let capacity: Int

  private static let pathPrefix = Array("/3/device/".utf8)
  private static let pathBytes = pathPrefix.count + Binding.maximumTokenDigits

  init(capacity: Int) {
    self.capacity = capacity
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: nil, count: capacity)
    paths = .allocate(byteCount: capacity * Self.pathBytes, alignment: 16)
    for slot in 0..<capacity {
      (paths + slot * Self.pathBytes).copyMemory(
        from: Self.pathPrefix, byteCount: Self.pathPrefix.count)
    }
    free = (0..<Int32(capacity)).reversed()
  }

  /// The owner calls this once, when it goes.
  func deallocate() {
    slots.deinitialize(count: capacity)
    slots.deallocate()
    paths.deallocate()
  }

  var inFlight: Int { capacity - free.count }

  mutating func take() -> Int? { free.popLast().map { Int($0) } }

  mutating func giveBack(_ slot: Int) {
    slots[slot] = nil
    free.append(Int32(truncatingIfNeeded: slot))
  }

  subscript(slot: Int) -> Slot? {
    get { slots[slot] }
    nonmutating set { slots[slot] = newValue }
  }

  func setStatus(_ slot: Int, _ status: Int) { slots[slot]?.status = Int32(clamping: status) }

  func setReset(_ slot: Int) { slots[slot]?.isReset = true }

  /// Writes the path for `token` into the slot's own memory and lends it.
  func path(_ slot: Int, token: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let start = paths + slot * Self.pathBytes
    let length = min(token.count, Binding.maximumTokenDigits)
    if let base = token.baseAddress {
      (start + Self.pathPrefix.count).copyMemory(from: base, byteCount: length)
    }
    return UnsafeRawBufferPointer(start: start, count: Self.pathPrefix.count + length)
  }

  /// The slots in use.
  var occupied: [Int] { (0..<capacity).filter { slots[$0] != nil } }
}
