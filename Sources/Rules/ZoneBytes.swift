import Text

/// Bytes of a time zone file, taken from the front: what is not there is nil and never a trap.
struct ZoneBytes {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isEmpty: Bool { rest.isEmpty }
  var first: UInt8? { rest.first }

  mutating func byte() -> UInt8? { rest.popFirst() }

  /// False when there are fewer.
  mutating func skip(_ count: Int) -> Bool {
    guard count >= 0, count <= rest.count else { return false }
    rest = rest.dropFirst(count)
    return true
  }

  mutating func take(_ text: String) -> Bool {
    guard rest.starts(with: text.utf8) else { return false }
    rest = rest.dropFirst(text.utf8.count)
    return true
  }

  /// Big endian, two's complement.
  mutating func number(_ bytes: Int) -> Int64? {
    guard rest.count >= bytes else { return nil }
    let bits = rest.prefix(bytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    rest = rest.dropFirst(bytes)
    let unused = 64 - 8 * bytes
    return Int64(bitPattern: bits << UInt64(unused)) >> Int64(unused)
  }

  /// Digits; nil when there are none, or more than four.
  mutating func decimal() -> Int? {
    let digits = rest.prefix { $0.isASCIIDigit }
    guard (1...4).contains(digits.count) else { return nil }
    rest = rest.dropFirst(digits.count)
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  mutating func run(while belongs: (UInt8) -> Bool) -> [UInt8] {
    let run = Array(rest.prefix(while: belongs))
    rest = rest.dropFirst(run.count)
    return run
  }

  /// Up to a line feed, which is taken too.
  mutating func line() -> [UInt8]? {
    guard let end = rest.firstIndex(of: 0x0A) else { return nil }
    defer { rest = rest[(end + 1)...] }
    return Array(rest[..<end])
  }
}
