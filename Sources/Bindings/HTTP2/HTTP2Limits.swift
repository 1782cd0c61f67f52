import CNghttp2

/// Limits of either half of a connection. A peer that goes beyond one gets its stream or its
/// connection closed.
package struct HTTP2Limits: Sendable {
  /// HPACK table that the peer may fill, and the most that our encoder uses, in bytes (RFC 7541,
  /// 4.2).
  var headerTableBytes = 4096
  /// The bytes that one stream may send before we acknowledge them. APNs answers are under 200
  /// bytes, its payloads 4,096 or 5,120.
  package var streamWindowBytes = 65_535
  /// The same for all streams of the connection together: 1,000 answers of a few hundred bytes.
  package var connectionWindowBytes = 1 << 20
  /// Names and values of one head with 32 bytes for each field, as RFC 9113, 6.5.2 counts them; a
  /// longer one closes its stream with INTERNAL_ERROR. APNs announces 8,000.
  var maximumHeaderListBytes = 16_384
  /// SETTINGS and PING acknowledgements that may wait in our output (CVE-2019-9512, CVE-2019-9515).
  var maximumQueuedAcknowledgements = 256
  /// Entries in one SETTINGS frame (CVE-2020-11080).
  var maximumSettingsEntries = 32
  /// CONTINUATION frames behind one HEADERS frame (CVE-2024-28182).
  var maximumContinuations = 8
  /// Frames, other than DATA of 1 KiB and more, since there was progress. To a client a stream that
  /// closes is progress, and each body byte that it has sent is worth two frames: 1,000 open
  /// streams whose body the server acknowledges with two WINDOW_UPDATEs each, windows of one byte,
  /// and hourly PINGs for years stay below it; floods do not. To a server a request that is
  /// complete is progress, and a made body that goes on.
  package var maximumFramesWithoutProgress = 20_000
  /// Bytes of anything but bodies since then. It bounds what nobody counts as frames, those of
  /// unknown types.
  package var maximumBytesWithoutProgress = Int.max

  package init() {}

  /// Counts one more field of a list that has `count` bytes so far. False: that is too much.
  @inline(__always)
  func takes(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, _ count: inout Int
  ) -> Bool {
    count += name.count + value.count + 32
    return count <= maximumHeaderListBytes
  }
}

package enum HTTP2Version {
  /// The nghttp2 that is loaded at run time: `1.52.0`.
  package static var string: String {
    nghttp2_version(0).flatMap { $0.pointee.version_str }.map { String(cString: $0) } ?? "unknown"
  }
}
