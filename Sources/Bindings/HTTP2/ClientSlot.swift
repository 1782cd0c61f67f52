/// What the session keeps of one request. Lives in a table that never moves, reached by index
/// without exclusivity checks: this is the hot path.
struct ClientSlot {
  /// 0: free.
  var stream: Int32 = 0
  /// Of the head that is being read or was read last; 0 before.
  var status: Int32 = 0
  var headerListBytes: Int = 0
  var body: UnsafePointer<UInt8>?
  var bodyLeft: Int = 0
  /// It is over and never left: nghttp2 did not send its HEADERS.
  var wasWithheld = false
  /// The final head has come; fields that follow are trailers.
  var headIsComplete = false
  var endStreamSeen = false
  /// It is over, and its owner has not heard so yet.
  var hasEnded = false
  /// The response said more than its status.
  var hasContent = false

  init() {}

  init(stream: Int32, body: UnsafeRawBufferPointer) {
    self.stream = stream
    self.body = body.baseAddress?.assumingMemoryBound(to: UInt8.self)
    bodyLeft = body.count
  }
}
