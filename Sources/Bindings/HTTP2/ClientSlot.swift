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

/// What is remembered of a request that is over: nothing that counts references.
struct ClientEnd {
  let slot: Int32
  let status: Int32
  let errorCode: UInt32
  let wasSent: Bool
  let wasWhole: Bool
}

/// What a client's session has heard and its owner has not asked for yet.
struct ClientState {
  var goAwayReceived = false
  var settingsReceived = false
  /// Since the owner asked last.
  var settingsChanged = false
  var pingAcknowledgements = 0
  /// Where in `ended` those begin that the owner has not heard of, and how many they are.
  var firstEnded = 0
  var endedCount = 0
}
