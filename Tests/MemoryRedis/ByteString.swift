import Glibc

/// A string of Redis': any bytes. Tables hash it by words of eight bytes, which costs a fraction of
/// what a `Hasher` does.
package struct ByteString: Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package init(_ text: String) { bytes = Array(text.utf8) }

  package init(stringLiteral text: String) { self.init(text) }

  package init(_ number: Int64) { self.init("\(number)") }

  package var text: String { String(decoding: bytes, as: UTF8.self) }

  package var count: Int { bytes.count }

  /// ASCII letters in small.
  var lowercased: ByteString {
    guard bytes.contains(where: { $0 &- 0x41 < 26 }) else { return self }
    return ByteString(bytes.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 })
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(mixed) }

  package func _rawHashValue(seed: Int) -> Int {
    Int(truncatingIfNeeded: Self.mix(mixed, UInt64(truncatingIfNeeded: seed)))
  }

  /// For tables that keep it beside the key.
  var shortHash: UInt32 { UInt32(truncatingIfNeeded: mixed) }

  private var mixed: UInt64 {
    bytes.withUnsafeBytes { bytes in
      var mixed = UInt64(bytes.count)
      var position = 0
      while position + 8 <= bytes.count {
        let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
        mixed = Self.mix(mixed, word)
        position += 8
      }
      var rest: UInt64 = 0
      while position < bytes.count {
        rest = rest << 8 | UInt64(bytes[position])
        position += 1
      }
      return Self.mix(mixed, rest)
    }
  }

  /// The product's two halves have something of every bit.
  private static func mix(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let product = (one ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(
      by: other ^ 0xD6E8_FEB8_6659_FD93)
    return product.high ^ product.low
  }

  package static func == (left: ByteString, right: ByteString) -> Bool {
    left.bytes.withUnsafeBytes { left in
      right.bytes.withUnsafeBytes { right in
        guard left.count == right.count else { return false }
        guard let first = left.baseAddress, let second = right.baseAddress else { return true }
        return first == second || memcmp(first, second, left.count) == 0
      }
    }
  }

  package func begins(with other: ByteString) -> Bool { has(other, at: 0) }

  package func ends(with other: ByteString) -> Bool { has(other, at: count - other.count) }

  private func has(_ other: ByteString, at place: Int) -> Bool {
    guard place >= 0, place + other.count <= count else { return false }
    return bytes.withUnsafeBytes { bytes in
      other.bytes.withUnsafeBytes { other in
        guard let start = bytes.baseAddress, let wanted = other.baseAddress else { return true }
        return memcmp(start + place, wanted, other.count) == 0
      }
    }
  }

  package static func < (left: ByteString, right: ByteString) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

extension ByteString {
  /// Redis' own idea of an integer (`string2ll`): no plus, no leading zeros, no blanks.
  package var integer: Int64? {
    guard !bytes.isEmpty, bytes.count <= 20 else { return nil }
    let isNegative = bytes[0] == UInt8(ascii: "-")
    let digits = bytes.dropFirst(isNegative ? 1 : 0)
    guard let first = digits.first else { return nil }
    if first == UInt8(ascii: "0") { return bytes.count == 1 ? 0 : nil }
    var value: Int64 = 0
    for byte in digits {
      guard byte &- 0x30 < 10 else { return nil }
      let (product, isOver) = value.multipliedReportingOverflow(by: 10)
      let digit = Int64(byte &- 0x30)
      let (sum, isOverToo) =
        isNegative
        ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
      guard !isOver, !isOverToo else { return nil }
      value = sum
    }
    return value
  }

  /// As `strtod` reads all of it; with a NUL byte inside it is no number.
  var float: Double? { float(isRangeChecked: false) }

  private func float(isRangeChecked: Bool) -> Double? {
    guard !bytes.contains(0) else { return nil }
    return (bytes + [0]).withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { text -> Double? in
        guard let start = text.baseAddress else { return nil }
        var end: UnsafeMutablePointer<CChar>?
        errno = 0
        let value = strtod(start, &end)
        if isRangeChecked, errno == ERANGE, value.isInfinite || value == 0 { return nil }
        guard let end, UnsafePointer(end) == start + bytes.count, !value.isNaN else { return nil }
        return value
      }
    }
  }

  /// A score in ZADD: not empty, no blank before it, neither too large nor too small.
  var score: Double? {
    guard let first = bytes.first, first != 0x20, !(0x09...0x0D).contains(first) else { return nil }
    return float(isRangeChecked: true)
  }
}
