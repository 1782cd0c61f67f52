import CNghttp2

/// State that a session keeps from one call to the next.
struct SessionState {
  var openStreams = 0
  var framesWithoutProgress = 0
  var bytesWithoutProgress = 0
  /// A DATA frame of so many bytes is no small one: 1 KiB, or all that our window lets a peer send
  /// at once.
  var largePiece = 1024
  /// The slot that was looked up last.
  var lastSlot = 0
  /// Error code of a GOAWAY that a client's nghttp2 sent on its own account.
  var goAwayErrorSent: UInt32 = 0
  var isDead = false
  var isTerminating = false
  var isFlooded = false
}
