import HTTP2

/// What a client was told last of what it may send: nothing is said twice.
struct ToldLimits {
  private var streams: Int
  private var window: Int

  init(_ options: HTTP2ServerOptions) {
    streams = options.maximumConcurrentStreams
    window = options.limits.streamWindowBytes
  }

  mutating func tell(_ session: HTTP2ServerSession?, streams limit: Int) {
    guard limit != streams else { return }
    streams = limit
    session?.setMaximumConcurrentStreams(limit)
  }

  /// - Parameter bytes: of a body that each stream may send ahead; nil: as HTTP/2 has it.
  mutating func tell(_ session: HTTP2ServerSession?, window bytes: Int?) {
    let bytes = bytes ?? HTTP2ServerOptions().limits.streamWindowBytes
    guard bytes != window else { return }
    window = bytes
    session?.setStreamWindow(bytes)
  }
}
