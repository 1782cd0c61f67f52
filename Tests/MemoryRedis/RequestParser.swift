/// Takes commands out of what a client sends, however it is cut up.
struct RequestParser {
  private static let mostWords = 1 << 20
  private static let mostBytes = 512 << 20

  private var bytes: [UInt8] = []
  private var start = 0

  mutating func append(_ more: some Sequence<UInt8>) {
    if start > 1 << 16 || start == bytes.count {
      if start == bytes.count {
        bytes.removeAll(keepingCapacity: true)
      } else {
        bytes.removeFirst(start)
      }
      start = 0
    }
    bytes += more
  }

  /// Nil: the rest is not there yet. An empty line is a command without words.
  mutating func next() throws(CommandError) -> [ByteString]? {
    guard start < bytes.count else { return nil }
    var position = start
    guard bytes[position] == UInt8(ascii: "*") else { return inlineCommand() }
    guard let header = line(&position) else { return nil }
    guard let count = number(header), count <= Self.mostWords
    else { throw CommandError("ERR Protocol error: invalid multibulk length") }
    var words: [ByteString] = []
    words.reserveCapacity(Int(max(count, 0)))
    while words.count < count {
      guard position < bytes.count else { return nil }
      guard bytes[position] == UInt8(ascii: "$") else {
        let found = String(UnicodeScalar(bytes[position]))
        throw CommandError("ERR Protocol error: expected '$', got '\(found)'")
      }
      guard let header = line(&position) else { return nil }
      guard let length = number(header), (0...Int64(Self.mostBytes)).contains(length)
      else { throw CommandError("ERR Protocol error: invalid bulk length") }
      guard bytes.count - position >= Int(length) + 2 else { return nil }
      words.append(ByteString(Array(bytes[position..<(position + Int(length))])))
      position += Int(length) + 2
    }
    start = position
    return words
  }

  /// Of a line behind its kind.
  private func number(_ line: Range<Int>) -> Int64? {
    // Nearly all that there are.
    let digits = line.dropFirst()
    if (1...4).contains(digits.count), digits.allSatisfy({ bytes[$0] &- 0x30 < 10 }),
      digits.count == 1 || bytes[digits.lowerBound] != 0x30
    {
      return digits.reduce(0) { $0 * 10 + Int64(bytes[$1] - 0x30) }
    }
    return ByteString(Array(bytes[line].dropFirst())).integer
  }

  /// Without its end, behind which `position` is then.
  private func line(_ position: inout Int) -> Range<Int>? {
    var end = position
    while end < bytes.count, bytes[end] != 0x0D { end += 1 }
    guard end + 1 < bytes.count else { return nil }
    defer { position = end + 2 }
    return position..<end
  }

  private mutating func inlineCommand() -> [ByteString]? {
    guard let end = bytes[start...].firstIndex(of: 0x0A) else { return nil }
    let words = bytes[start..<end].split { $0 == 0x20 || $0 == 0x0D }
    start = end + 1
    return words.map { ByteString(Array($0)) }
  }
}
