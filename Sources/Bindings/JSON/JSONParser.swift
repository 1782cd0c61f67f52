import CJansson

extension JSONValue {
  /// Events and their like are small; more than this is refused before a byte is parsed.
  package static let defaultMaximumBytes = 1_048_576
  /// Deep enough for any document of ours, shallow enough that no recursion over it can hurt.
  package static let defaultMaximumDepth = 32

  /// A document of the largest size has fewer, unless it was made to keep us busy.
  package static let defaultMaximumValues = 100_000

  /// Parses exactly one document (RFC 8259), any kind of value at its top.
  ///
  /// Refused besides bad syntax: more than `maximumBytes` (before anything is read), nesting deeper
  /// than `maximumDepth` (at most 2,048, jansson's own bound), more values than `maximumValues`
  /// (counted by brackets and commas, before jansson sees one), a name twice in one object, a
  /// byte-order mark, UTF-16, bytes that are not UTF-8, lone surrogates, `\u0000`, NaN, infinities,
  /// numbers out of range, and anything but white space behind the document.
  package static func parse(
    _ bytes: UnsafeRawBufferPointer, maximumBytes: Int = defaultMaximumBytes,
    maximumDepth: Int = defaultMaximumDepth, maximumValues: Int = defaultMaximumValues
  ) throws(JSONError) -> JSONValue {
    try JSONScan.gate(bytes, maximumBytes: maximumBytes)
    try JSONScan.checkBytes(
      bytes, maximumDepth: min(maximumDepth, JSONScan.janssonMaximumDepth),
      maximumValues: maximumValues)
    return try load(bytes)
  }

  /// `JSONScan` has checked the bytes before.
  private static func load(
    _ bytes: UnsafeRawBufferPointer, flags: Int = 0
  ) throws(JSONError) -> JSONValue {
    let all = flags | Int(JSON_REJECT_DUPLICATES) | Int(JSON_DECODE_ANY)
    var failure = json_error_t()
    guard let root = json_loadb(bytes.baseAddress, bytes.count, all, &failure) else {
      throw JSONError(failure)
    }
    defer { json_decref(root) }
    return convert(root)
  }

  /// The same for what is only looked at and goes on as it was written: an integer over 64 bits,
  /// which others read, makes a double of every number.
  package static func parseWithAnyIntegers(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
    do {
      return try parse(bytes)
    } catch {
      guard error.code == .numberRange else { throw error }
    }
    return try bytes.withUnsafeBufferPointer { (lent) throws(JSONError) in
      try load(UnsafeRawBufferPointer(lent), flags: Int(JSON_DECODE_INT_AS_REAL))
    }
  }

  package static func parse(
    _ bytes: [UInt8], maximumBytes: Int = defaultMaximumBytes,
    maximumDepth: Int = defaultMaximumDepth, maximumValues: Int = defaultMaximumValues
  ) throws(JSONError) -> JSONValue {
    try bytes.withUnsafeBufferPointer { (lent) throws(JSONError) in
      try parse(
        UnsafeRawBufferPointer(lent), maximumBytes: maximumBytes, maximumDepth: maximumDepth,
        maximumValues: maximumValues)
    }
  }

  /// Recursive; `JSONScan.checkBytes` has bounded it.
  private static func convert(_ value: UnsafeMutablePointer<json_t>) -> JSONValue {
    switch fanfare_json_type(value) {
    case JSON_TRUE: .bool(true)
    case JSON_FALSE: .bool(false)
    case JSON_INTEGER: .integer(Int64(json_integer_value(value)))
    case JSON_REAL: .double(json_real_value(value))
    case JSON_STRING: .string(text(json_string_value(value), json_string_length(value)))
    case JSON_ARRAY: .array(elements(of: value))
    case JSON_OBJECT: .object(JSONObject(unique: members(of: value)))
    default: .null
    }
  }

  private static func elements(of array: UnsafeMutablePointer<json_t>) -> [JSONValue] {
    (0..<json_array_size(array)).map { json_array_get(array, $0).map(convert) ?? .null }
  }

  /// jansson's iteration keeps the order of insertion.
  private static func members(of object: UnsafeMutablePointer<json_t>) -> [JSONObject.Member] {
    var members: [JSONObject.Member] = []
    members.reserveCapacity(json_object_size(object))
    var iterator = json_object_iter(object)
    while let here = iterator {
      if let value = json_object_iter_value(here) {
        let name = text(json_object_iter_key(here), json_object_iter_key_len(here))
        members.append(JSONObject.Member(name, convert(value)))
      }
      iterator = json_object_iter_next(object, here)
    }
    return members
  }

  private static func text(_ start: UnsafePointer<CChar>?, _ count: Int) -> String {
    String(
      decoding: UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count), as: UTF8.self
    )
  }
}

/// Whether bytes are JSON, without building Swift values: for who only has to know.
package enum JSONCheck {
  /// True for exactly one JSON object under the rules of `JSONValue.parse` (nesting up to jansson's
  /// own 2,048). The caller has bounded the size.
  package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // jansson swallows a NUL behind a number or a literal.
    guard !bytes.contains(0),
      let root = json_loadb(bytes.baseAddress, bytes.count, Int(JSON_REJECT_DUPLICATES), nil)
    else { return false }
    defer { json_decref(root) }
    return fanfare_json_type(root) == JSON_OBJECT
  }

  /// The same for an object or a list.
  package static func isObjectOrList(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard !bytes.contains(0),
      let root = json_loadb(bytes.baseAddress, bytes.count, Int(JSON_REJECT_DUPLICATES), nil)
    else { return false }
    json_decref(root)
    return true
  }
}

extension JSONError {
  fileprivate init(_ failure: json_error_t) {
    let text = withUnsafePointer(to: failure) { String(cString: fanfare_json_error_text($0)) }
    let code: Code =
      switch Self.reason(failure) {
      case json_error_out_of_memory: .outOfMemory
      case json_error_stack_overflow: .tooDeep
      case json_error_invalid_utf8: .encoding
      case json_error_premature_end_of_input: .truncated
      case json_error_end_of_input_expected: .trailingText
      case json_error_null_character, json_error_null_byte_in_key: .nullCharacter
      case json_error_duplicate_key: .duplicateKey
      case json_error_numeric_overflow: .numberRange
      default: .syntax
      }
    self.init(
      code: code, message: JSONScan.printable(text), line: max(1, Int(failure.line)),
      column: max(1, Int(failure.column)))
  }

  private static func reason(_ failure: json_error_t) -> json_error_code {
    withUnsafePointer(to: failure) { json_error_code($0) }
  }
}

/// Why a text is not the JSON document that it should be, and where.
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, Equatable, CaseIterable {
    case empty
    case tooLarge = "too-large"
    case tooDeep = "too-deep"
    /// More values than anybody of ours writes.
    case tooManyValues = "too-many-values"
    /// A byte-order mark, UTF-16, or bytes that are not UTF-8.
    case encoding
    case syntax
    /// The document ends in the middle.
    case truncated
    /// Something follows the document.
    case trailingText = "trailing-text"
    case duplicateKey = "duplicate-key"
    /// An integer over 64 bits or a number over what a double holds.
    case numberRange = "number-range"
    /// `\u0000`, which no field of ours may hold.
    case nullCharacter = "null-character"
    case outOfMemory = "out-of-memory"
  }

  package let code: Code
  /// Printable text; may quote up to 20 characters of the input.
  package let message: String
  /// 1-based.
  package let line: Int
  /// 1-based, in characters (Unicode scalars).
  package let column: Int

  package init(code: Code, message: String, line: Int, column: Int) {
    self.code = code
    self.message = message
    self.line = line
    self.column = column
  }

  package var description: String { "line \(line), column \(column): \(message)" }
}

/// Checks the bytes before jansson sees them.
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

package enum JSONLibraryVersion {
  /// The jansson that is loaded at run time: `2.14`.
  package static var string: String { String(cString: jansson_version_str()) }
}
