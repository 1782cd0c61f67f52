/// SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash from whose results nobody without the
/// key can go back to the tokens. Swift's own Hasher is SipHash too, but its key cannot be chosen.
enum SipHash {
  static func hash(_ bytes: UnsafeRawBufferPointer, key: (UInt64, UInt64)) -> UInt64 {
    var state = State(key)
    var offset = 0
    while offset + 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      state.absorb(UInt64(littleEndian: word))
      offset += 8
    }
    var last = UInt64(truncatingIfNeeded: bytes.count) << 56
    for (index, byte) in bytes[offset...].enumerated() { last |= UInt64(byte) << UInt64(8 * index) }
    state.absorb(last)
    return state.finish()
  }

  private struct State {
    var a, b, c, d: UInt64

    init(_ key: (UInt64, UInt64)) {
      a = key.0 ^ 0x736F_6D65_7073_6575
      b = key.1 ^ 0x646F_7261_6E64_6F6D
      c = key.0 ^ 0x6C79_6765_6E65_7261
      d = key.1 ^ 0x7465_6462_7974_6573
    }

    mutating func absorb(_ word: UInt64) {
      d ^= word
      round()
      round()
      a ^= word
    }

    mutating func finish() -> UInt64 {
      c ^= 0xFF
      for _ in 0..<4 { round() }
      return a ^ b ^ c ^ d
    }

    private mutating func round() {
      a = a &+ b
      b = Self.rotate(b, 13) ^ a
      a = Self.rotate(a, 32)
      c = c &+ d
      d = Self.rotate(d, 16) ^ c
      a = a &+ d
      d = Self.rotate(d, 21) ^ a
      c = c &+ b
      b = Self.rotate(b, 17) ^ c
      c = Self.rotate(c, 32)
    }

    private static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 {
      value << bits | value >> (64 - bits)
    }
  }
}
