/// A reader for JSON that forgives nothing (RFC 8259): no bad UTF-8, no key twice, no stray byte.
indirect enum StrictJSON: Equatable {
  case null
  case boolean(Bool)
  case number(String)
  case string(String)
  case array([StrictJSON])
  case object([String: StrictJSON])

  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  init(_ bytes: [UInt8]) throws {
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw Fault(description: "no UTF-8")
    }
    var reader = Reader(bytes: bytes)
    self = try reader.value()
    guard reader.position == bytes.count else { throw Fault(description: "stray bytes") }
  }

  init(_ text: String) throws { try self.init(Array(text.utf8)) }

  subscript(path: String) -> StrictJSON? {
    var current = self
    for key in path.split(separator: ".") {
      guard case .object(let members) = current, let next = members[String(key)] else { return nil }
      current = next
    }
    return current
  }

  func text(_ path: String) -> String? {
    if case .string(let text) = self[path] { text } else { nil }
  }

  private struct Reader {
    let bytes: [UInt8]
    var position = 0

    mutating func value() throws -> StrictJSON {
      switch try peek() {
      case UInt8(ascii: "{"): return try object()
      case UInt8(ascii: "["): return try array()
      case UInt8(ascii: "\""): return .string(try string())
      case UInt8(ascii: "t"): return try word("true", .boolean(true))
      case UInt8(ascii: "f"): return try word("false", .boolean(false))
      case UInt8(ascii: "n"): return try word("null", .null)
      default: return try number()
      }
    }

    func peek() throws -> UInt8 {
      guard position < bytes.count else { throw Fault(description: "ends too early") }
      return bytes[position]
    }

    mutating func take(_ character: Character) throws {
      guard try peek() == character.asciiValue else {
        throw Fault(description: "no \(character) at \(position)")
      }
      position += 1
    }

    mutating func word(_ word: String, _ value: StrictJSON) throws -> StrictJSON {
      for character in word { try take(character) }
      return value
    }

    mutating func object() throws -> StrictJSON {
      try take("{")
      var members: [String: StrictJSON] = [:]
      if try peek() == UInt8(ascii: "}") {
        position += 1
        return .object(members)
      }
      while true {
        let key = try string()
        try take(":")
        guard members[key] == nil else { throw Fault(description: "\(key) twice") }
        members[key] = try value()
        if try peek() == UInt8(ascii: "}") { break }
        try take(",")
      }
      position += 1
      return .object(members)
    }

    mutating func array() throws -> StrictJSON {
      try take("[")
      var items: [StrictJSON] = []
      if try peek() == UInt8(ascii: "]") {
        position += 1
        return .array(items)
      }
      while true {
        items.append(try value())
        if try peek() == UInt8(ascii: "]") { break }
        try take(",")
      }
      position += 1
      return .array(items)
    }

    mutating func string() throws -> String {
      try take("\"")
      var text: [UInt8] = []
      while try peek() != UInt8(ascii: "\"") {
        let byte = try peek()
        position += 1
        guard byte >= 0x20 else { throw Fault(description: "bare control character") }
        if byte == UInt8(ascii: "\\") {
          text += try escape()
        } else {
          text.append(byte)
        }
      }
      position += 1
      return String(decoding: text, as: UTF8.self)
    }

    mutating func escape() throws -> [UInt8] {
      let byte = try peek()
      position += 1
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
      case UInt8(ascii: "b"): return [8]
      case UInt8(ascii: "f"): return [12]
      case UInt8(ascii: "n"): return [10]
      case UInt8(ascii: "r"): return [13]
      case UInt8(ascii: "t"): return [9]
      case UInt8(ascii: "u"):
        let digits = bytes[position..<min(position + 4, bytes.count)]
        position += 4
        guard digits.count == 4,
          let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16),
          let scalar = Unicode.Scalar(code)
        else { throw Fault(description: "bad escape") }
        return Array(String(Character(scalar)).utf8)
      default: throw Fault(description: "unknown escape")
      }
    }

    mutating func number() throws -> StrictJSON {
      let rest = bytes[position...].prefix { "+-.eE0123456789".utf8.contains($0) }
      let text = String(decoding: rest, as: UTF8.self)
      guard text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil else {
        throw Fault(description: "no value at \(position)")
      }
      position += rest.count
      return .number(text)
    }
  }
}
