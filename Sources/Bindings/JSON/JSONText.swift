/// JSON written out: for command output, log lines and ledgers, not for the hot path (Render has
/// its own).
package enum JSONText {
  /// Without white space. A double that is not finite becomes `null`, as ECMAScript writes it.
  package static func compact(_ value: JSONValue) -> String {
    var output = ""
    append(value, to: &output)
    return output
  }

  /// The text as a JSON string, quotes included. Escapes what RFC 8259 section 7 demands, and
  /// U+2028 and U+2029, which break lines in some readers.
  package static func quoted(_ text: String) -> String {
    var output = ""
    append(quoting: text, to: &output)
    return output
  }

  private static func append(_ value: JSONValue, to output: inout String) {
    switch value {
    case .null: output += "null"
    case .bool(let flag): output += flag ? "true" : "false"
    case .integer(let number): output += String(number)
    case .double(let number): output += number.isFinite ? number.description : "null"
    case .string(let text): append(quoting: text, to: &output)
    case .array(let elements):
      output += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { output += "," }
        append(element, to: &output)
      }
      output += "]"
    case .object(let object):
      output += "{"
      for (index, member) in object.members.enumerated() {
        if index > 0 { output += "," }
        append(quoting: member.name, to: &output)
        output += ":"
        append(member.value, to: &output)
      }
      output += "}"
    }
  }

  private static func append(quoting text: String, to output: inout String) {
    output += "\""
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x22: output += "\\\""
      case 0x5C: output += "\\\\"
      case 0x0A: output += "\\n"
      case 0x0D: output += "\\r"
      case 0x09: output += "\\t"
      case 0..<0x20, 0x7F, 0x2028, 0x2029: output += unicodeEscape(scalar.value)
      default: output.unicodeScalars.append(scalar)
      }
    }
    output += "\""
  }

  private static func unicodeEscape(_ value: UInt32) -> String {
    let digits = String(value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
