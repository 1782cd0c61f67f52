import Glibc
import Text

/// JSON's syntax, and the words of refusals.
extension MessageScan {
  // MARK: Bytes

  @inline(__always)
  func peek() -> UInt8? { place < bytes.count ? bytes[place] : nil }

  @inline(__always)
  mutating func takes(_ byte: UInt8) -> Bool {
    guard peek() == byte else { return false }
    place += 1
    return true
  }

  @inline(__always)
  mutating func skipSpace() {
    while place < bytes.count {
      let byte = bytes[place]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
      place += 1
    }
  }

  mutating func colon() throws(FCMRefusal) {
    skipSpace()
    guard takes(UInt8(ascii: ":")) else { throw syntax("Expected : between key:value pair") }
    skipSpace()
  }

  /// Behind an element; false: another one follows.
  mutating func isLast(_ end: UInt8) throws(FCMRefusal) -> Bool {
    skipSpace()
    if takes(end) { return true }
    guard takes(UInt8(ascii: ",")) else { throw syntax("Expected , or the end of the list") }
    return false
  }

  mutating func word(_ text: StaticString) throws(FCMRefusal) {
    let count = text.utf8CodeUnitCount
    guard bytes.count - place >= count, let base = bytes.baseAddress,
      memcmp(base + place, text.utf8Start, count) == 0
    else { throw syntax("Unexpected token") }
    place += count
  }

  /// RFC 8259, section 6. False: there is none.
  mutating func number() -> Bool {
    _ = takes(UInt8(ascii: "-"))
    if takes(UInt8(ascii: "0")) {
      if let next = peek(), next.isASCIIDigit { return false }
    } else if skipDigits() == 0 {
      return false
    }
    if takes(UInt8(ascii: ".")), skipDigits() == 0 { return false }
    guard takes(UInt8(ascii: "e")) || takes(UInt8(ascii: "E")) else { return true }
    if !takes(UInt8(ascii: "+")) { _ = takes(UInt8(ascii: "-")) }
    return skipDigits() > 0
  }

  private mutating func skipDigits() -> Int {
    let start = place
    while let byte = peek(), byte.isASCIIDigit { place += 1 }
    return place - start
  }

  // MARK: Strings

  mutating func string(_ what: StaticString) throws(FCMRefusal) -> Quoted {
    guard takes(UInt8(ascii: "\"")) else { throw syntax("Expected a \(what)") }
    let start = place
    var dropped = 0
    var hasEscapes = false
    while let byte = peek() {
      place += 1
      if byte.isPlainASCII { continue }
      switch byte {
      case UInt8(ascii: "\""):
        let end = place - 1
        return Quoted(
          start: start, end: end, count: end - start - dropped, hasEscapes: hasEscapes)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        let escape = place - 1
        let count = try escaped()
        dropped += place - escape - count
      case ..<0x20: throw syntax("Invalid control character in a string")
      case 0x80...:
        guard sequence(byte) else { throw syntax("Invalid UTF-8") }
      default: break
      }
    }
    throw syntax("Closing quote expected in a string")
  }

  /// Behind a backslash: how many bytes of UTF-8 the escape stands for.
  private mutating func escaped() throws(FCMRefusal) -> Int {
    guard let kind = peek() else { throw syntax("Illegal escape") }
    place += 1
    switch kind {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return 1
    case UInt8(ascii: "u"):
      let first = try unit()
      switch first {
      case ..<0x80: return 1
      case ..<0x800: return 2
      case 0xD800..<0xDC00:
        guard takes(UInt8(ascii: "\\")), takes(UInt8(ascii: "u")),
          (0xDC00..<0xE000).contains(try unit())
        else { throw syntax("Invalid unicode code point") }
        return 4
      case 0xDC00..<0xE000: throw syntax("Invalid unicode code point")
      default: return 3
      }
    default: throw syntax("Illegal escape")
    }
  }

  private mutating func unit() throws(FCMRefusal) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = peek()?.hexValue else { throw syntax("Illegal hex string") }
      value = value << 4 | UInt32(digit)
      place += 1
    }
    return value
  }

  /// The rest of a character of UTF-8 (Unicode, table 3-7).
  private mutating func sequence(_ first: UInt8) -> Bool {
    let second: ClosedRange<UInt8>
    let count: Int
    switch first {
    case 0xC2...0xDF: (second, count) = (0x80...0xBF, 1)
    case 0xE0: (second, count) = (0xA0...0xBF, 2)
    case 0xED: (second, count) = (0x80...0x9F, 2)
    case 0xE1...0xEF: (second, count) = (0x80...0xBF, 2)
    case 0xF0: (second, count) = (0x90...0xBF, 3)
    case 0xF1...0xF3: (second, count) = (0x80...0xBF, 3)
    case 0xF4: (second, count) = (0x80...0x8F, 3)
    default: return false
    }
    guard bytes.count - place >= count, second.contains(bytes[place]) else { return false }
    for index in 1..<max(count, 1) where bytes[place + index] & 0xC0 != 0x80 { return false }
    place += count
    return true
  }

  /// The bytes of a string that has been read, escapes undone.
  func decoded(_ quoted: Quoted) -> [UInt8] {
    guard quoted.hasEscapes else { return Array(bytes[quoted.start..<quoted.end]) }
    var output: [UInt8] = []
    output.reserveCapacity(quoted.count)
    var index = quoted.start
    while index < quoted.end {
      guard bytes[index] == UInt8(ascii: "\\") else {
        output.append(bytes[index])
        index += 1
        continue
      }
      let kind = bytes[index + 1]
      index += 2
      switch kind {
      case UInt8(ascii: "b"): output.append(0x08)
      case UInt8(ascii: "f"): output.append(0x0C)
      case UInt8(ascii: "n"): output.append(0x0A)
      case UInt8(ascii: "r"): output.append(0x0D)
      case UInt8(ascii: "t"): output.append(0x09)
      case UInt8(ascii: "u"):
        var value = unit(at: index)
        index += 4
        if (0xD800..<0xDC00).contains(value) {
          value = 0x10000 + (value - 0xD800) << 10 + unit(at: index + 2) - 0xDC00
          index += 6
        }
        if let scalar = Unicode.Scalar(value) { output += Array(String(scalar).utf8) }
      default: output.append(kind)
      }
    }
    return output
  }

  private func unit(at index: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 << 4 | UInt32(bytes[index + $1].hexValue ?? 0) }
  }

  // MARK: Durations

  /// Whole seconds, rounded down, of `3.5s`; nil for what is no google.protobuf.Duration.
  func duration(_ quoted: Quoted) -> Int64? {
    var text = bytes[quoted.start..<quoted.end]
    guard !quoted.hasEscapes, text.popLast() == UInt8(ascii: "s") else { return nil }
    let isNegative = text.first == UInt8(ascii: "-")
    if isNegative { text = text.dropFirst() }
    let parts = text.split(
      separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, (1...12).contains(whole.count),
      parts.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) }),
      parts.count == 1 || (1...9).contains(parts[1].count)
    else { return nil }
    let seconds = whole.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
    guard seconds <= 315_576_000_000 else { return nil }
    guard isNegative else { return seconds }
    let hasFraction = parts.count == 2 && parts[1].contains { $0 != 0x30 }
    return -seconds - (hasFraction ? 1 : 0)
  }

  // MARK: Refusals

  func syntax(_ what: String) -> FCMRefusal {
    let rest = bytes[min(place, bytes.count)...].prefix(20)
    let excerpt = String(decoding: rest, as: UTF8.self)
    return .unreadable("", "Invalid JSON payload received. \(what).\n\(excerpt)\n^")
  }

  func wrongType(_ path: String) -> FCMRefusal {
    let rest = bytes[min(place, bytes.count)...].prefix(20)
    let excerpt = String(decoding: rest, as: UTF8.self)
    return .unreadable(path, "Invalid value at '\(path)', \(excerpt)")
  }

  func badDuration(_ schema: MessageSchema, _ field: MessageField) -> FCMRefusal {
    let path = Self.path(schema, field)
    return .unreadable(
      path,
      "Invalid value at '\(path)' (type.googleapis.com/google.protobuf.Duration), Illegal duration "
        + "format; duration must end with 's'")
  }

  func unknown(_ name: String, in schema: MessageSchema) -> FCMRefusal {
    let place = schema.path.isEmpty ? "" : " at '\(schema.path)'"
    return .unreadable(
      schema.path,
      "Invalid JSON payload received. Unknown name \"\(name)\"\(place): Cannot find field.")
  }

  func twoTargets(_ field: MessageField) -> FCMRefusal {
    .unreadable(
      "message",
      "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set "
        + "'\(field.name)'")
  }

  /// As Google names a field: with the names of the protocol buffer.
  static func path(_ schema: MessageSchema, _ field: MessageField) -> String {
    var name: [UInt8] = []
    for byte in "\(field.name)".utf8 {
      if byte.isASCIIUpper { name.append(UInt8(ascii: "_")) }
      name.append(byte.asciiLowered)
    }
    let text = String(decoding: name, as: UTF8.self)
    return schema.path.isEmpty ? text : "\(schema.path).\(text)"
  }
}

extension FCMRefusal: Error {}
