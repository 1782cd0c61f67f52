import Text

/// Where a key is kept in a Redis Cluster: CRC-16 (XMODEM) of its hash tag, or of all of it,
/// modulo 16,384 (Redis Cluster specification, "Key distribution model").
package struct RedisSlot: Sendable, Hashable {
  package static let count = 16_384

  package let number: Int

  package init(_ key: UnsafeRawBufferPointer) {
    let tag = UnsafeRawBufferPointer(rebasing: key[HashTag.range(in: key)])
    number = Int(Self.checksum(tag) & UInt16(Self.count - 1))
  }

  package init(_ key: String) {
    var key = key
    self = key.withUTF8 { Self(UnsafeRawBufferPointer($0)) }
  }

  /// CRC-16 with the polynomial x¹⁶ + x¹² + x⁵ + 1, from 0, nothing reflected.
  static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt16 {
    table.withUnsafeBufferPointer { table in
      var checksum: UInt16 = 0
      for byte in bytes {
        checksum = (checksum << 8) ^ table[Int(UInt8(truncatingIfNeeded: checksum >> 8) ^ byte)]
      }
      return checksum
    }
  }

  private static let table: [UInt16] = (0..<256).map { byte in
    (0..<8).reduce(UInt16(byte) << 8) { rest, _ in
      rest & 0x8000 == 0 ? rest << 1 : (rest << 1) ^ 0x1021
    }
  }
}
