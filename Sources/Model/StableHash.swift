/// A hash of 128 bits that is the same in every process and in every version: two
/// multiply-and-fold lanes over words of eight bytes; not for secrets.
package enum StableHash {
  /// - Parameters:
  ///   - first, second: set the use apart from others; two different ones.
  package static func of(
    _ bytes: UnsafeRawBufferPointer, _ first: UInt64, _ second: UInt64
  ) -> (low: UInt64, high: UInt64) {
    var a = first ^ UInt64(bytes.count)
    var b = second
    var offset = 0
    while offset + 8 <= bytes.count {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      a = fold(a ^ word, 0xA076_1D64_78BD_642F)
      b = fold(b ^ word, 0xE703_7ED1_A0B4_28DB)
      offset += 8
    }
    var tail: UInt64 = 0
    while offset < bytes.count {
      tail = tail << 8 | UInt64(bytes[offset])
      offset += 1
    }
    a = fold(a ^ tail, 0x8EBC_6AF0_9C88_C6E3)
    b = fold(b ^ tail, 0x5899_65CC_7537_4CC3)
    return (fold(a ^ b, 0xA076_1D64_78BD_642F), fold(b &+ a, 0xE703_7ED1_A0B4_28DB))
  }

  package static func of(
    _ text: String, _ first: UInt64, _ second: UInt64
  ) -> (low: UInt64, high: UInt64) {
    var text = text
    return text.withUTF8 { of(UnsafeRawBufferPointer($0), first, second) }
  }

  private static func fold(_ x: UInt64, _ y: UInt64) -> UInt64 {
    let product = x.multipliedFullWidth(by: y)
    return product.high ^ product.low
  }
}
