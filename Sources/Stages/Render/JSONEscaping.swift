/// Writes text as the inside of a JSON string (RFC 8259, 7).
enum JSONEscaping {
  /// A control character becomes six bytes (`\u0001`); nothing grows more.
  static let maximumGrowth = 6

  /// Copies `source` to `target`, which has room for `maximumGrowth` times its bytes, escaping `"`,
  /// `\` and U+0001…U+001F, and putting U+FFFD for what is not UTF-8 (one for each maximal subpart,
  /// as Unicode recommends and `String` does) and for U+0000, which readers written in C refuse.
  /// Returns the bytes written, or nil, the target then holding rubbish, when `source` has a bidi
  /// control: such a text must be cleaned first.
  @inline(__always)
  static func write(_ source: UnsafeRawPointer, _ count: Int, to target: UnsafeMutableRawPointer)
    -> Int?
  {
    var position = 0
    var written = 0
    while position < count {
      while position + 8 <= count {
        let word = (source + position).loadUnaligned(as: UInt64.self)
        if needsCare(word) { break }
        (target + written).storeBytes(of: word, as: UInt64.self)
        position += 8
        written += 8
      }
      guard position < count else { break }
      let byte = (source + position).load(as: UInt8.self)
      if byte >= 0x20 && byte < 0x80 && byte != 0x22 && byte != 0x5C {
        (target + written).storeBytes(of: byte, as: UInt8.self)
        position += 1
        written += 1
      } else if byte < 0x80 {
        written += escape(byte, to: target + written)
        position += 1
      } else {
        let length = sequenceLength(source + position, count - position)
        if length > 0 {
          if byte == 0xE2 && BidiControls.isControl(source + position) { return nil }
          for offset in 0..<length {
            (target + written + offset).storeBytes(
              of: (source + position + offset).load(as: UInt8.self), as: UInt8.self)
          }
          position += length
          written += length
        } else {
          written += writeReplacement(to: target + written)
          position -= length
        }
      }
    }
    return written
  }

  /// The escaped bytes of a valid text; bidi controls pass.
  static func escaped(_ text: String) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if byte >= 0x20 && byte != 0x22 && byte != 0x5C {
        result.append(byte)
      } else {
        withUnsafeTemporaryAllocation(byteCount: maximumGrowth, alignment: 1) { room in
          guard let target = room.baseAddress else { return }
          let count = escape(byte, to: target)
          result.append(contentsOf: room[..<count])
        }
      }
    }
    return result
  }

  /// How many bytes `escaped` makes of a text.
  static func escapedCount(_ text: some Sequence<UInt8>) -> Int {
    text.reduce(0) { $0 + escapedCount($1) }
  }

  private static func escapedCount(_ byte: UInt8) -> Int {
    switch byte {
    case 0x22, 0x5C, 0x08, 0x09, 0x0A, 0x0C, 0x0D: 2
    case 0: 3
    case 1..<0x20: 6
    default: 1
    }
  }

  /// Whether one of eight bytes is a control character, a quotation mark, a backslash or not ASCII.
  @inline(__always)
  private static func needsCare(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let tops: UInt64 = 0x8080_8080_8080_8080
    let quote = word ^ (ones &* 0x22)
    let backslash = word ^ (ones &* 0x5C)
    let found = (word &- ones &* 0x20) | (quote &- ones) | (backslash &- ones) | word
    return found & tops != 0
  }

  private static func writeReplacement(to target: UnsafeMutableRawPointer) -> Int {
    target.storeBytes(of: 0xEF, as: UInt8.self)
    (target + 1).storeBytes(of: 0xBF, as: UInt8.self)
    (target + 2).storeBytes(of: 0xBD, as: UInt8.self)
    return 3
  }

  private static func escape(_ byte: UInt8, to target: UnsafeMutableRawPointer) -> Int {
    let short: UInt8
    switch byte {
    case 0x22, 0x5C: short = byte
    case 0x08: short = UInt8(ascii: "b")
    case 0x09: short = UInt8(ascii: "t")
    case 0x0A: short = UInt8(ascii: "n")
    case 0x0C: short = UInt8(ascii: "f")
    case 0x0D: short = UInt8(ascii: "r")
    case 0: return writeReplacement(to: target)
    default:
      let low = byte & 0xF
      target.storeBytes(of: 0x5C, as: UInt8.self)
      (target + 1).storeBytes(of: UInt8(ascii: "u"), as: UInt8.self)
      (target + 2).storeBytes(of: 0x30, as: UInt8.self)
      (target + 3).storeBytes(of: 0x30, as: UInt8.self)
      (target + 4).storeBytes(of: 0x30 + (byte >> 4), as: UInt8.self)
      (target + 5).storeBytes(of: low < 10 ? 0x30 + low : 0x57 + low, as: UInt8.self)
      return 6
    }
    target.storeBytes(of: 0x5C, as: UInt8.self)
    (target + 1).storeBytes(of: short, as: UInt8.self)
    return 2
  }

  /// The bytes of the valid sequence at `source` whose first byte is not ASCII, or, negative, how
  /// many bytes of an invalid one a single U+FFFD stands for (Unicode, table 3-7).
  @inline(__always)
  private static func sequenceLength(_ source: UnsafeRawPointer, _ available: Int) -> Int {
    let lead = source.load(as: UInt8.self)
    var lowest: UInt8 = 0x80
    var highest: UInt8 = 0xBF
    let length: Int
    switch lead {
    case 0xC2...0xDF: length = 2
    case 0xE0...0xEF:
      length = 3
      if lead == 0xE0 { lowest = 0xA0 }
      if lead == 0xED { highest = 0x9F }
    case 0xF0...0xF4:
      length = 4
      if lead == 0xF0 { lowest = 0x90 }
      if lead == 0xF4 { highest = 0x8F }
    default: return -1
    }
    var index = 1
    while index < length {
      guard index < available else { return -index }
      let byte = (source + index).load(as: UInt8.self)
      guard byte >= lowest && byte <= highest else { return -index }
      lowest = 0x80
      highest = 0xBF
      index += 1
    }
    return length
  }
}
