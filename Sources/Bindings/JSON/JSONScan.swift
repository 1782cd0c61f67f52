/// What is looked at before jansson sees a byte.
enum JSONScan {
  /// JSON_PARSER_MAX_DEPTH of jansson's build.
  static let janssonMaximumDepth = 2_048

  static func gate(_ bytes: UnsafeRawBufferPointer, maximumBytes: Int) throws(JSONError) {
    guard bytes.count <= maximumBytes else {
      throw JSONError(
        code: .tooLarge, message: "\(bytes.count) bytes, at most \(maximumBytes) are read",
        line: 1, column: 1)
    }
    guard bytes.contains(where: { !isSpace($0) }) else {
      throw JSONError(code: .empty, message: "there is no JSON value", line: 1, column: 1)
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      throw JSONError(
        code: .encoding, message: "a byte-order mark is not JSON: write UTF-8 without it", line: 1,
        column: 1)
    }
    let isUTF16 =
      bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE])
      || bytes.prefix(2).contains(0)
    if isUTF16 {
      throw JSONError(
        code: .encoding, message: "this is not UTF-8 (it looks like UTF-16): write UTF-8", line: 1,
        column: 1)
    }
  }

  /// Counts brackets and commas outside strings, exactly for valid JSON; what is not valid is
  /// refused anyway. Each opening bracket and each comma has a value of its own, beside the
  /// document itself. Refuses NUL, which stands nowhere in JSON: jansson swallows one behind a
  /// number or a literal.
  static func checkBytes(
    _ bytes: UnsafeRawBufferPointer, maximumDepth maximum: Int, maximumValues: Int
  ) throws(JSONError) {
    var depth = 0
    var values = 0
    var line = 1
    var column = 0
    var inString = false
    var isEscaped = false
    for byte in bytes {
      if byte == 0x0A {
        line += 1
        column = 0
        continue
      }
      // A continuation byte of UTF-8 is no new character.
      if byte & 0xC0 != 0x80 { column += 1 }
      if byte == 0 {
        throw JSONError(
          code: .nullCharacter, message: "a NUL byte is not JSON", line: line, column: column)
      }
      if inString {
        if isEscaped {
          isEscaped = false
        } else if byte == 0x5C {
          isEscaped = true
        } else if byte == 0x22 {
          inString = false
        }
        continue
      }
      switch byte {
      case 0x22: inString = true
      case 0x5B, 0x7B:
        depth += 1
        values += 1
        if depth > maximum {
          throw JSONError(
            code: .tooDeep, message: "nested deeper than \(maximum) levels", line: line,
            column: column)
        }
      case 0x5D, 0x7D: depth -= 1
      case 0x2C: values += 1
      default: break
      }
      if values > maximumValues {
        throw JSONError(
          code: .tooManyValues, message: "more than \(maximumValues) values", line: line,
          column: column)
      }
    }
  }

  /// jansson quotes the input in its messages: what is not printable must not reach a log line.
  static func printable(_ text: String) -> String {
    var clean = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      let isPlain =
        scalar.properties.generalCategory != .control
        && scalar.properties.generalCategory != .format
      clean.append(isPlain ? scalar : "?")
    }
    return String(clean)
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }
}
