import Text

/// Makes one line of bytes of a message and its fields. The result is always one line, valid UTF-8
/// (in JSON: one valid object without duplicate names), scrubbed, and at most `maximumLineBytes`
/// long.
struct LogLineWriter {
  /// PIPE_BUF: what one write(2) puts into a pipe whole, so that lines of several processes do not
  /// mix.
  static let maximumLineBytes = 4_096
  /// Of one text after escaping. Three such fields and the message fit in a line.
  static let maximumTextBytes = 1_024
  static let maximumNameBytes = 64
  /// Of one text before scrubbing: several times what is kept, so that little is lost to long
  /// tokens.
  static let maximumScrubbedBytes = 4_096
  /// Room for the mark of a line that was cut, and its end.
  private static let reserve = 32

  let format: LogFormat
  let scrubber: Scrubber

  func line(
    _ level: LogLevel, _ message: String, _ fields: LogFields, milliseconds: Int64
  ) -> [UInt8] {
    var line: [UInt8] = []
    line.reserveCapacity(256)
    switch format {
    case .json: writeJSON(level, message, fields, milliseconds, to: &line)
    case .text(let coloured):
      writeText(level, message, fields, milliseconds, coloured: coloured, to: &line)
    }
    line.append(0x0A)
    return line
  }

  private func writeJSON(
    _ level: LogLevel, _ message: String, _ fields: LogFields, _ milliseconds: Int64,
    to line: inout [UInt8]
  ) {
    line +=
      "{\"ts\":\"\(WallClock.rfc3339(milliseconds))\",\"level\":\"\(level.name)\",\"msg\":".utf8
    appendQuoted(message, limit: Self.maximumTextBytes, to: &line)
    var names: [[UInt8]] = []
    names.reserveCapacity(fields.members.count)
    for field in fields.members {
      let before = line.count
      let name = nameBytes(field.name)
      guard !names.contains(name) else { continue }
      names.append(name)
      line += [0x2C, 0x22]
      line += name
      line += [0x22, 0x3A]
      append(field.value, quoting: { _ in true }, to: &line)
      if line.count > Self.maximumLineBytes - Self.reserve {
        line.removeSubrange(before...)
        line += ",\"truncated\":true".utf8
        break
      }
    }
    line.append(0x7D)
  }

  /// `08:00:00.123Z warning message  name=value name="two words"`
  private func writeText(
    _ level: LogLevel, _ message: String, _ fields: LogFields, _ milliseconds: Int64,
    coloured: Bool,
    to line: inout [UInt8]
  ) {
    line += WallClock.rfc3339(milliseconds).utf8.dropFirst(11)
    let name = level.name + String(repeating: " ", count: 7 - level.name.utf8.count)
    line += (coloured ? " \u{1B}[\(level.colour)m\(name)\u{1B}[0m " : " \(name) ").utf8
    append(message, quoted: false, limit: Self.maximumTextBytes, to: &line)
    for (index, field) in fields.members.enumerated() {
      let before = line.count
      line += (index == 0 ? "  " : " ").utf8
      if coloured { line += "\u{1B}[2m".utf8 }
      line += nameBytes(field.name)
      line.append(0x3D)
      if coloured { line += "\u{1B}[0m".utf8 }
      append(field.value, quoting: Self.wantsQuotes, to: &line)
      if line.count > Self.maximumLineBytes - Self.reserve {
        line.removeSubrange(before...)
        line += " truncated=true".utf8
        break
      }
    }
  }

  private static func wantsQuotes(_ text: String) -> Bool {
    text.isEmpty || text.utf8.contains { $0 <= 0x20 || $0 == 0x22 || $0 == 0x3D || $0 == 0x5C }
  }

  private static let ownNames = ["ts", "level", "msg", "truncated"]

  /// A name that the line itself uses gets a `_`.
  private func nameBytes(_ name: String) -> [UInt8] {
    let isTaken = Self.ownNames.contains(name)
    // Too short for a web token, and without what the other secrets have.
    if !isTaken, name.utf8.count < Scrubber.shortestWebToken,
      name.utf8.allSatisfy({ $0.isASCIIWord || $0 == 0x5F })
    {
      return Array(name.utf8)
    }
    var bytes: [UInt8] = []
    append(isTaken ? name + "_" : name, quoted: true, limit: Self.maximumNameBytes, to: &bytes)
    return bytes
  }

  private func append(_ value: LogValue, quoting: (String) -> Bool, to line: inout [UInt8]) {
    switch value {
    case .text(let text) where quoting(text):
      appendQuoted(text, limit: Self.maximumTextBytes, to: &line)
    case .text(let text): append(text, quoted: false, limit: Self.maximumTextBytes, to: &line)
    case .integer(let value): line += String(value).utf8
    case .double(let value): line += (value.isFinite ? value.description : "null").utf8
    case .bool(let value): line += (value ? "true" : "false").utf8
    case .token(let label): append(.text(label.description), quoting: quoting, to: &line)
    }
  }

  private func appendQuoted(_ text: String, limit: Int, to line: inout [UInt8]) {
    line.append(0x22)
    append(text, quoted: true, limit: limit, to: &line)
    line.append(0x22)
  }

  /// Scrubs, escapes, and cuts between characters after `limit` bytes.
  private func append(_ text: String, quoted: Bool, limit: Int, to line: inout [UInt8]) {
    var text = text
    // Nearly all are such.
    let isWritten = text.withUTF8 { bytes in
      guard bytes.count <= limit - 3, bytes.allSatisfy(\.isPlainASCII),
        Scrubber.isHarmless(UnsafeRawBufferPointer(bytes))
      else { return false }
      line += bytes
      return true
    }
    if isWritten { return }
    let scrubbed = text.withUTF8 {
      scrubber.scrub(UnsafeRawBufferPointer($0), limit: Self.maximumScrubbedBytes)
    }
    let end = line.count + limit - 3
    for scalar in String(decoding: scrubbed, as: UTF8.self).unicodeScalars {
      let before = line.count
      Self.append(scalar, quoted: quoted, to: &line)
      if line.count > end {
        line.removeSubrange(before...)
        line += "…".utf8
        return
      }
    }
  }

  private static func append(_ scalar: Unicode.Scalar, quoted: Bool, to line: inout [UInt8]) {
    switch scalar {
    case "\"" where quoted: line += "\\\"".utf8
    case "\\" where quoted: line += "\\\\".utf8
    case "\n": line += "\\n".utf8
    case "\r": line += "\\r".utf8
    case "\t": line += "\\t".utf8
    default:
      guard isHostile(scalar.value) else {
        line += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        return
      }
      line += JSONString.unicodeEscape(scalar).utf8
    }
  }

  /// Control characters, line separators, and marks that turn the reading order around.
  private static func isHostile(_ value: UInt32) -> Bool {
    switch value {
    case 0...0x1F, 0x7F...0x9F, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}

extension LogLevel {
  fileprivate var colour: String {
    switch self {
    case .error: "31"
    case .warning: "33"
    case .notice: "36"
    case .info: "32"
    case .debug: "2"
    }
  }
}
