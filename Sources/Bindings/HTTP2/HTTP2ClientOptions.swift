package struct HTTP2ClientOptions: Sendable {
  /// Requests that can be open at once; a slot costs 48 bytes. APNs has been seen to allow 1,500.
  package var maximumSlots = 2048
  /// Streams that we assume the peer allows before its SETTINGS have arrived. APNs starts at one.
  package var assumedMaximumStreams = 1
  package var limits = HTTP2Limits()

  /// Bytes of a response's body that are kept, and of what a GOAWAY says; the rest is dropped.
  package var keptBodyBytes = 4096
  /// The fields of a response that are kept.
  package var keptFields = KeptFields.none

  package enum KeptFields: Sendable {
    case none, all
    /// In lower case, as HTTP/2 has them.
    case named([UInt8])

    @inline(__always)
    func keeps(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
      switch self {
      case .none: return false
      case .all: return true
      // By its length first: every response has fields, and there are many of them.
      case .named(let wanted):
        return wanted.count == name.count && wanted.elementsEqual(name)
      }
    }
  }

  package init() {
    // Windows of one byte cost nothing here, and the longest heads of all slots stay below it.
    limits.maximumBytesWithoutProgress = 32 << 20
  }
}
