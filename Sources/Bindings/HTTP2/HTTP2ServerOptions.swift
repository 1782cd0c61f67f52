package struct HTTP2ServerOptions: Sendable {
  /// Streams that a client may have open; can be changed later.
  package var maximumConcurrentStreams = 1000
  package var limits = HTTP2Limits()

  package init() {
    // 1,000 bodies of 5 KiB and more, so that no client waits for us.
    limits.connectionWindowBytes = 8 << 20
  }
}
