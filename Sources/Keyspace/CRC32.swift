/// CRC-32 of IEEE 802.3: reflected, polynomial 0xEDB88320, start and final value all ones. What
/// zlib's `crc32`, Python's `zlib.crc32` and PHP's `crc32` compute, so that any backend can place a
/// follower.
package enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 0 ? value >> 1 : 0xEDB8_8320 ^ (value >> 1)
    }
  }

  package static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    table.withUnsafeBufferPointer { table in
      ~bytes.reduce(UInt32.max) { value, byte in
        table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] ^ (value >> 8)
      }
    }
  }
}
