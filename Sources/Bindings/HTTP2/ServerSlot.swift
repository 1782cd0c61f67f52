struct ServerSlot {
  /// 0: no stream, or one that is over and whose owner has not heard so yet.
  var stream: Int32 = 0
  /// The next free slot, of a free one.
  var next = -1
  var headerListBytes = 0
  /// Owned; freed when the slot is.
  var body: UnsafeMutablePointer<UInt8>?
  var bodyCount = 0
  var bodyOffset = 0
  var isAnswered = false
  var hasSource = false
  var headIsComplete = false
}
