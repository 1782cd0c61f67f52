/// The `apns-id` of a push: a canonical lower-case UUID (version 8, RFC 9562) made from the event
/// and the token, so that a second try, or a second worker after a crash, sends the same one.
package struct PushIdentifier: Equatable {
  package static let length = 36

  package struct Seed {
    fileprivate let low: UInt64
    fileprivate let high: UInt64

    package init(event: String) {
      (low, high) = StableHash.of(event, 0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344)
    }
  }

  private let high: UInt64
  private let low: UInt64

  package init(seed: Seed, token: UnsafeRawBufferPointer) {
    let (low, high) = StableHash.of(token, seed.low, seed.high)
    self.high = high & ~0xF000 | 0x8000
    self.low = low & ~(0b11 << 62) | (0b10 << 62)
  }

  /// Writes `length` characters, digits in groups of 8-4-4-4-12, and returns that number; 0 where
  /// there is no room for them.
  package func write(to target: UnsafeMutableRawBufferPointer) -> Int {
    guard target.count >= Self.length, let start = target.baseAddress else { return 0 }
    let second = Self.digits(UInt32(truncatingIfNeeded: high))
    let third = Self.digits(UInt32(truncatingIfNeeded: low >> 32))
    start.storeBytes(of: Self.digits(UInt32(truncatingIfNeeded: high >> 32)), as: UInt64.self)
    start.storeBytes(of: Self.dash, toByteOffset: 8, as: UInt8.self)
    start.storeBytes(of: Self.first(second), toByteOffset: 9, as: UInt32.self)
    start.storeBytes(of: Self.dash, toByteOffset: 13, as: UInt8.self)
    start.storeBytes(of: Self.last(second), toByteOffset: 14, as: UInt32.self)
    start.storeBytes(of: Self.dash, toByteOffset: 18, as: UInt8.self)
    start.storeBytes(of: Self.first(third), toByteOffset: 19, as: UInt32.self)
    start.storeBytes(of: Self.dash, toByteOffset: 23, as: UInt8.self)
    start.storeBytes(of: Self.last(third), toByteOffset: 24, as: UInt32.self)
    start.storeBytes(
      of: Self.digits(UInt32(truncatingIfNeeded: low)), toByteOffset: 28, as: UInt64.self)
    return Self.length
  }

  private static var dash: UInt8 { 0x2D }

  /// Eight lower-case hex digits, all at once in one word, in the order in which memory holds them:
  /// spread the nibbles over the bytes, add `0`, and for those over 9 the way from `9` to `a`.
  private static func digits(_ value: UInt32) -> UInt64 {
    var spread = UInt64(value)
    spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
    spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
    spread = (spread | spread << 4) & 0x0F0F_0F0F_0F0F_0F0F
    let letters = (spread &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return (spread &+ 0x3030_3030_3030_3030 &+ letters &* 0x27).bigEndian
  }

  private static func first(_ digits: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: UInt64(littleEndian: digits)).littleEndian
  }

  private static func last(_ digits: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: UInt64(littleEndian: digits) >> 32).littleEndian
  }

  package var text: String {
    String(unsafeUninitializedCapacity: Self.length) {
      write(to: UnsafeMutableRawBufferPointer($0))
    }
  }
}
