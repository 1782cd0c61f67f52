/// The trace that an event is part of: W3C Trace Context, section 3.2 (`traceparent`). Of an event
/// that came without one the trace is made of its id, so that all workers give it the same.
package struct TraceContext: Sendable, Equatable {
  package let traceID: TraceID
  /// The producer's span; nil: the trace begins here.
  package let parentID: UInt64?
  package let isSampled: Bool

  /// The length of version 00.
  private static let length = 55

  /// Nil for what the standard calls invalid: it is as good as absent.
  /// - Parameter traceparent: of any version; of later ones what version 00 knows is read.
  package init?(traceparent bytes: some Collection<UInt8>) {
    // A later version may be longer; nothing is as long as this.
    guard bytes.count >= Self.length, bytes.count <= 512 else { return nil }
    let text = Array(bytes)
    let dash = UInt8(ascii: "-")
    guard text[2] == dash, text[35] == dash, text[52] == dash,
      let version = Self.hex(text[0..<2]), version != 0xFF,
      text.count == Self.length || version > 0 && text[Self.length] == dash,
      let high = Self.hex(text[3..<19]), let low = Self.hex(text[19..<35]), high | low != 0,
      let parent = Self.hex(text[36..<52]), parent != 0, let flags = Self.hex(text[53..<55])
    else { return nil }
    traceID = TraceID(high: high, low: low)
    parentID = parent
    isSampled = flags & 1 == 1
  }

  /// The trace of an event that has none of a producer's.
  /// - Parameter share: of such events that are sampled, 0...1.
  package init(ofEvent id: String, share: Double) {
    let (low, high) = StableHash.of(id, 0xA409_3822_299F_31D0, 0x082E_FA98_EC4E_6C89)
    // All zeros are no id.
    traceID = TraceID(high: high, low: low | 1)
    parentID = nil
    isSampled = traceID.isSampled(share)
  }

  /// Of version 00; nil where the trace begins here.
  package var traceparent: String? {
    parentID.map { "00-\(traceID)-\(HexText.of($0))-0\(isSampled ? 1 : 0)" }
  }

  /// Lower case only, as the standard has it.
  private static func hex(_ digits: ArraySlice<UInt8>) -> UInt64? {
    var value: UInt64 = 0
    for digit in digits {
      switch digit {
      case 0x30...0x39: value = value << 4 | UInt64(digit - 0x30)
      case 0x61...0x66: value = value << 4 | UInt64(digit - 0x57)
      default: return nil
      }
    }
    return value
  }
}

/// 16 bytes that are not all zero.
package struct TraceID: Sendable, Equatable, CustomStringConvertible {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// As OpenTelemetry's `TraceIdRatioBased`: the same in every process.
  func isSampled(_ share: Double) -> Bool {
    Double(low >> 11) / Double(1 << 53) < share
  }

  /// 32 digits of lower-case hexadecimal.
  package var description: String { HexText.of(high) + HexText.of(low) }
}

/// 16 digits of lower-case hexadecimal.
package enum HexText {
  package static func of(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
