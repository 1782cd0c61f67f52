/// The `apns-id` of a push: a canonical lower-case UUID (version 8, RFC 9562) made from the event and the
/// token, so that a second try, or a second worker after a crash, sends the same one.
package struct PushIdentifier: Equatable {
  package static let length = 36

  package struct Seed {
    fileprivate let low: UInt64
    fileprivate let high: UInt64

    package init(event: String) {
      var event = event
      (low, high) = event.withUTF8 {
        PushIdentifier.hash(
          UnsafeRawBufferPointer($0), 0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344)
      }
    }
  }

  private let high: UInt64
  private let low: UInt64

  package init(seed: Seed, token: UnsafeRawBufferPointer) {
    let (low, high) = Self.hash(token, seed.low, seed.high)
    self.high = high & ~0xF000 | 0x8000
    self.low = low & ~(0b11 << 62) | (0b10 << 62)
  }

  /// Two multiply-and-fold lanes over words of eight bytes; not for secrets.
  private static func hash(
    _ bytes: UnsafeRawBufferPointer, _ first: UInt64, _ second: UInt64
  ) -> (UInt64, UInt64) {
    var a = first ^ UInt64(bytes.count)
    var b = second
    var offset = 0
    while offset + 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
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

  private static func fold(_ x: UInt64, _ y: UInt64) -> UInt64 {
    let product = x.multipliedFullWidth(by: y)
    return product.high ^ product.low
  }

  /// Writes `length` characters and returns that number.
  package func write(to target: UnsafeMutableRawBufferPointer) -> Int {
    var position = 0
    for index in 0..<32 {
      if index == 8 || index == 12 || index == 16 || index == 20 {
        target[position] = 0x2D
        position += 1
      }
      let word = index < 16 ? high : low
      let digit = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index & 15))) & 0xF
      target[position] = digit < 10 ? 0x30 + digit : 0x57 + digit
      position += 1
    }
    return position
  }

  package var text: String {
    String(unsafeUninitializedCapacity: Self.length) {
      write(to: UnsafeMutableRawBufferPointer($0))
    }
  }
}
