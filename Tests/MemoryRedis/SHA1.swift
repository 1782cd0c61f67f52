/// The digest by which Redis knows a script (FIPS 180-4).
enum SHA1 {
  /// In small letters.
  static func hexadecimal(_ message: [UInt8]) -> ByteString {
    let digits = Array("0123456789abcdef".utf8)
    let words = digest(padded(message))
    var text: [UInt8] = []
    for word in words {
      for shift in stride(from: UInt32(28), through: 0, by: -4) {
        text.append(digits[Int((word >> shift) & 15)])
      }
    }
    return ByteString(text)
  }

  private static func padded(_ message: [UInt8]) -> [UInt8] {
    var padded = message + [0x80]
    while padded.count % 64 != 56 { padded.append(0) }
    let bits = UInt64(message.count) * 8
    for shift in stride(from: UInt64(56), through: 0, by: -8) {
      padded.append(UInt8(truncatingIfNeeded: bits >> shift))
    }
    return padded
  }

  private static func digest(_ message: [UInt8]) -> [UInt32] {
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    var schedule = [UInt32](repeating: 0, count: 80)
    for start in stride(from: 0, to: message.count, by: 64) {
      for index in 0..<16 {
        let place = start + 4 * index
        schedule[index] =
          UInt32(message[place]) << 24 | UInt32(message[place + 1]) << 16
          | UInt32(message[place + 2]) << 8 | UInt32(message[place + 3])
      }
      for index in 16..<80 {
        schedule[index] = rotated(
          schedule[index - 3] ^ schedule[index - 8] ^ schedule[index - 14] ^ schedule[index - 16],
          by: 1)
      }
      add(schedule, to: &state)
    }
    return state
  }

  private static func add(_ schedule: [UInt32], to state: inout [UInt32]) {
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for (index, word) in schedule.enumerated() {
      let (mixed, constant): (UInt32, UInt32) =
        switch index {
        case ..<20: ((b & c) | (~b & d), 0x5A82_7999)
        case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
        case ..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
        default: (b ^ c ^ d, 0xCA62_C1D6)
        }
      let next = rotated(a, by: 5) &+ mixed &+ e &+ constant &+ word
      (a, b, c, d, e) = (next, a, rotated(b, by: 30), c, d)
    }
    state[0] &+= a
    state[1] &+= b
    state[2] &+= c
    state[3] &+= d
    state[4] &+= e
  }

  private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 {
    word &<< count | word &>> (32 &- count)
  }
}
