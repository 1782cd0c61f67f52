/// Limits of a server session.
package struct HTTP2ServerOptions: Sendable {
  /// Streams that a client may have open; can be changed later.
  package var maximumConcurrentStreams = 1000
  /// Body bytes that one request may send before we acknowledge them. APNs payloads are 4,096 or
  /// 5,120.
  package var streamWindowBytes = 65_535
  /// The same for the whole connection: 1,000 bodies of 5 KiB and more, so that no client waits for
  /// us.
  package var connectionWindowBytes = 8 << 20
  package var headerTableBytes = 4096
  /// As RFC 9113, 6.5.2 counts; APNs announces 8,000. A longer head closes its stream.
  package var maximumHeaderListBytes = 16_384
  package var maximumQueuedAcknowledgements = 256
  package var maximumSettingsEntries = 32
  package var maximumContinuations = 8
  /// Frames, other than DATA of 1 KiB and more, since a request came to its end or a made body went
  /// on.
  package var maximumFramesWithoutProgress = 20_000

  package init() {}
}
