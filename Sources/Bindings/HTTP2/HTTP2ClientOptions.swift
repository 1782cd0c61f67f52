/// Limits of a client session. A peer that goes beyond one gets its stream or its connection
/// closed.
package struct HTTP2ClientOptions: Sendable {
  /// Requests that can be open at once; a slot costs 48 bytes. APNs has been seen to allow 1,500.
  package var maximumSlots = 2048
  /// HPACK table that the peer may fill, and the most that our encoder uses, in bytes (RFC 7541,
  /// 4.2).
  package var headerTableBytes = 4096
  /// What one response may send before we acknowledge it, in bytes. APNs answers are under 200
  /// bytes.
  package var streamWindowBytes = 65_535
  /// The same for all responses of the connection together: 1,000 answers of a few hundred bytes.
  package var connectionWindowBytes = 1 << 20
  /// Names and values of one response head with 32 bytes for each field, as RFC 9113, 6.5.2 counts
  /// them; a longer one closes its stream with INTERNAL_ERROR.
  package var maximumHeaderListBytes = 16_384
  /// Streams that we assume the peer allows before its SETTINGS have arrived. APNs starts at one.
  package var assumedMaximumStreams = 1
  /// SETTINGS and PING acknowledgements that may wait in our output (CVE-2019-9512, CVE-2019-9515).
  package var maximumQueuedAcknowledgements = 256
  /// Entries in one SETTINGS frame (CVE-2020-11080).
  package var maximumSettingsEntries = 32
  /// CONTINUATION frames behind one HEADERS frame (CVE-2024-28182).
  package var maximumContinuations = 8
  /// Frames, other than DATA of 1 KiB and more, since a stream last closed, less two for each body
  /// byte that we have sent meanwhile. 1,000 open streams whose body the server acknowledges with
  /// two WINDOW_UPDATEs each, windows of one byte, and hourly PINGs for years stay below it; floods
  /// do not.
  package var maximumFramesWithoutProgress = 20_000
  /// Bytes of anything but bodies since then, less what windows of one byte cost: the longest heads
  /// of all slots stay below it. It bounds what nobody counts as frames, those of unknown types.
  package var maximumBytesWithoutProgress = 32 << 20

  /// Bytes of a response's body that are kept, and of what a GOAWAY says; the rest is dropped.
  package var keptBodyBytes = 4096
  /// The fields of a response that are kept.
  package var keptFields = KeptFields.none

  package enum KeptFields: Sendable {
    case none, all
    /// In lower case, as HTTP/2 has them.
    case named([UInt8])

    @inline(__always)
    func keeps(_ name: UnsafePointer<UInt8>, _ count: Int) -> Bool {
      switch self {
      case .none: return false
      case .all: return true
      // By its length first: every response has fields, and there are many of them.
      case .named(let wanted):
        return wanted.count == count
          && wanted.elementsEqual(UnsafeBufferPointer(start: name, count: count))
      }
    }
  }

  package init() {}
}
