/// A key that was pressed.
package enum Key: Sendable, Equatable {
  case character(Character)
  case enter, escape, tab, backspace
  case up, down, pageUp, pageDown, home, end
  /// Ctrl and this small letter.
  case control(Character)
}

/// Makes keys of the bytes that a terminal sends. A pure machine; what it does not know gives no
/// key.
package struct KeyParser: Sendable {
  /// Bytes of a key that has not come whole. No sequence of a key is longer than this.
  private var rest: [UInt8] = []
  private static let longestSequence = 16

  package init() {}

  /// Whether an escape has come that may be the key or the beginning of another one.
  package var isUndecided: Bool { !rest.isEmpty }

  package mutating func take(_ bytes: some Sequence<UInt8>) -> [Key] {
    rest += bytes
    var keys: [Key] = []
    while !rest.isEmpty {
      guard let (key, length) = Self.first(of: rest) else {
        if rest.count > Self.longestSequence { rest = [] }
        break
      }
      rest.removeFirst(length)
      if let key { keys.append(key) }
    }
    return keys
  }

  /// Nothing came behind what is undecided: an escape is the key.
  package mutating func decide() -> [Key] {
    defer { rest = [] }
    return rest.first == 0x1B ? [.escape] : []
  }

  /// The first key, if it is one of ours, and its bytes; nil while more must come.
  private static func first(of bytes: [UInt8]) -> (key: Key?, length: Int)? {
    switch bytes[0] {
    case 0x1B: return sequence(bytes)
    case 0x0A, 0x0D: return (.enter, 1)
    case 0x09: return (.tab, 1)
    case 0x08, 0x7F: return (.backspace, 1)
    case 0x01...0x1A:
      return (.control(Character(Unicode.Scalar(bytes[0] + 0x60))), 1)
    case ..<0x20: return (nil, 1)
    default: return character(bytes)
    }
  }

  private static func character(_ bytes: [UInt8]) -> (key: Key?, length: Int)? {
    let length =
      switch bytes[0] {
      case ..<0x80: 1
      case 0xC2...0xDF: 2
      case 0xE0...0xEF: 3
      case 0xF0...0xF4: 4
      default: 0
      }
    guard length > 0 else { return (nil, 1) }
    guard bytes.count >= length else { return nil }
    guard let text = String(validating: bytes[..<length], as: UTF8.self),
      let character = text.first
    else { return (nil, 1) }
    return (.character(character), length)
  }

  /// `ESC [ parameters letter` or `ESC O letter` (ECMA-48, xterm).
  private static func sequence(_ bytes: [UInt8]) -> (key: Key?, length: Int)? {
    guard bytes.count >= 2 else { return nil }
    guard bytes[1] == 0x5B || bytes[1] == 0x4F else { return (.escape, 1) }
    let body = bytes[2...]
    guard let end = body.firstIndex(where: { (0x40...0x7E).contains($0) }) else { return nil }
    let parameters = String(decoding: body[..<end], as: UTF8.self)
    return (named(bytes[end], parameters), end + 1)
  }

  private static func named(_ letter: UInt8, _ parameters: String) -> Key? {
    switch (Character(Unicode.Scalar(letter)), parameters) {
    case ("A", _): .up
    case ("B", _): .down
    case ("H", _), ("~", "1"), ("~", "7"): .home
    case ("F", _), ("~", "4"), ("~", "8"): .end
    case ("~", "5"): .pageUp
    case ("~", "6"): .pageDown
    default: nil
    }
  }
}
