import JSON
import Text

/// Whether a payload is one JSON object under jansson's rules: UTF-8, no name twice in an object,
/// nothing behind it. jansson is the judge and builds a tree for each verdict, 3 µs of malloc and
/// free, more than all the rest of a request. So this passes what is plainly sound, without memory
/// of its own, and asks jansson for everything else: unusual escapes, exponents, long numbers, deep
/// or wide objects, and errors.
package struct PayloadScan {
  private static let maximumDepth = 12
  private static let maximumNames = 96

  private let bytes: UnsafePointer<UInt8>
  private let end: Int
  private var place = 0
  /// Names of the objects that are open, as start and length.
  private let names: UnsafeMutableBufferPointer<(start: UInt32, count: UInt32)>
  private var nameCount = 0

  static func isObject(_ payload: UnsafeRawBufferPointer) -> Bool {
    isPlainlySound(payload) || JSONCheck.isValid(payload)
  }

  /// False says nothing. True: jansson takes it too.
  package static func isPlainlySound(_ payload: UnsafeRawBufferPointer) -> Bool {
    guard let base = payload.baseAddress, payload.count <= Int(Int32.max) else { return false }
    return withUnsafeTemporaryAllocation(
      of: (start: UInt32, count: UInt32).self, capacity: maximumNames
    ) { names in
      var scan = PayloadScan(
        bytes: base.assumingMemoryBound(to: UInt8.self), end: payload.count, names: names)
      scan.skipSpace()
      guard scan.next() == UInt8(ascii: "{"), scan.object(depth: 1) else { return false }
      scan.skipSpace()
      return scan.place == scan.end
    }
  }

  private init(
    bytes: UnsafePointer<UInt8>, end: Int,
    names: UnsafeMutableBufferPointer<(start: UInt32, count: UInt32)>
  ) {
    self.bytes = bytes
    self.end = end
    self.names = names
  }

  // MARK: Values

  /// Behind the opening brace.
  private mutating func object(depth: Int) -> Bool {
    let firstName = nameCount
    defer { nameCount = firstName }
    skipSpace()
    if peek() == UInt8(ascii: "}") {
      place += 1
      return true
    }
    while true {
      skipSpace()
      guard next() == UInt8(ascii: "\""), name(since: firstName) else { return false }
      skipSpace()
      guard next() == UInt8(ascii: ":"), value(depth: depth) else { return false }
      skipSpace()
      switch next() {
      case UInt8(ascii: ","): continue
      case UInt8(ascii: "}"): return true
      default: return false
      }
    }
  }

  /// Behind the opening bracket.
  private mutating func array(depth: Int) -> Bool {
    skipSpace()
    if peek() == UInt8(ascii: "]") {
      place += 1
      return true
    }
    while true {
      guard value(depth: depth) else { return false }
      skipSpace()
      switch next() {
      case UInt8(ascii: ","): continue
      case UInt8(ascii: "]"): return true
      default: return false
      }
    }
  }

  private mutating func value(depth: Int) -> Bool {
    skipSpace()
    guard let first = next() else { return false }
    switch first {
    case UInt8(ascii: "\""): return string(plain: false)
    case UInt8(ascii: "{"): return depth < Self.maximumDepth && object(depth: depth + 1)
    case UInt8(ascii: "["): return depth < Self.maximumDepth && array(depth: depth + 1)
    case UInt8(ascii: "t"): return word("rue")
    case UInt8(ascii: "f"): return word("alse")
    case UInt8(ascii: "n"): return word("ull")
    default: return number(first)
    }
  }

  /// A name without escapes that its object has not had before.
  private mutating func name(since first: Int) -> Bool {
    let start = place
    guard string(plain: true), nameCount < Self.maximumNames else { return false }
    let count = place - 1 - start
    for index in first..<nameCount where Int(names[index].count) == count {
      if compareBytes(bytes + Int(names[index].start), bytes + start, count) { return false }
    }
    names[nameCount] = (UInt32(start), UInt32(count))
    nameCount += 1
    return true
  }

  /// Behind the opening quote; ends behind the closing one.
  private mutating func string(plain: Bool) -> Bool {
    while let byte = next() {
      if byte == UInt8(ascii: "\"") { return true }
      if byte == UInt8(ascii: "\\") {
        guard !plain, escape() else { return false }
      } else if byte >= 0x80 {
        guard sequence(byte) else { return false }
      } else if byte < 0x20 {
        return false
      }
    }
    return false
  }

  private mutating func escape() -> Bool {
    switch next() {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      true
    default: false
    }
  }

  /// The rest of a character of UTF-8 (Unicode, table 3-7).
  private mutating func sequence(_ first: UInt8) -> Bool {
    switch first {
    case 0xC2...0xDF: trail(0x80...0xBF)
    case 0xE0: trail(0xA0...0xBF) && trail(0x80...0xBF)
    case 0xE1...0xEC, 0xEE, 0xEF: trail(0x80...0xBF) && trail(0x80...0xBF)
    case 0xED: trail(0x80...0x9F) && trail(0x80...0xBF)
    case 0xF0: trail(0x90...0xBF) && trail(0x80...0xBF) && trail(0x80...0xBF)
    case 0xF1...0xF3: trail(0x80...0xBF) && trail(0x80...0xBF) && trail(0x80...0xBF)
    case 0xF4: trail(0x80...0x8F) && trail(0x80...0xBF) && trail(0x80...0xBF)
    default: false
    }
  }

  /// A whole number of up to 15 digits, or with a fraction of as many more.
  private mutating func number(_ first: UInt8) -> Bool {
    var digit = first
    if digit == UInt8(ascii: "-") {
      guard let second = next() else { return false }
      digit = second
    }
    guard digit.isASCIIDigit else { return false }
    var digits = 1
    if digit == UInt8(ascii: "0") {
      if let follower = peek(), follower.isASCIIDigit { return false }
    } else {
      digits += skipDigits()
    }
    guard digits <= 15 else { return false }
    if peek() == UInt8(ascii: ".") {
      place += 1
      guard (1...15).contains(skipDigits()) else { return false }
    }
    return peek() != UInt8(ascii: "e") && peek() != UInt8(ascii: "E")
  }

  private mutating func word(_ rest: StaticString) -> Bool {
    let count = rest.utf8CodeUnitCount
    guard end - place >= count, compareBytes(bytes + place, rest.utf8Start, count) else {
      return false
    }
    place += count
    return true
  }

  // MARK: Bytes

  @inline(__always)
  private func peek() -> UInt8? { place < end ? bytes[place] : nil }

  @inline(__always)
  private mutating func next() -> UInt8? {
    guard place < end else { return nil }
    defer { place += 1 }
    return bytes[place]
  }

  @inline(__always)
  private mutating func skipSpace() {
    while place < end {
      let byte = bytes[place]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
      place += 1
    }
  }

  private mutating func skipDigits() -> Int {
    let start = place
    while place < end, bytes[place].isASCIIDigit { place += 1 }
    return place - start
  }

  private mutating func trail(_ range: ClosedRange<UInt8>) -> Bool {
    guard let byte = next() else { return false }
    return range.contains(byte)
  }
}
