/// Text as a JSON string, for command output, configuration and answers; rendering has its own.
package enum JSONString {
  /// Quotes included. Escapes what RFC 8259, section 7, demands, and what drives a terminal or
  /// breaks a line in some readers: DEL, C1 controls, U+2028 and U+2029.
  package static func quoted(_ text: String) -> String {
    var output = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": output += "\\\""
      case "\\": output += "\\\\"
      case "\n": output += "\\n"
      case "\r": output += "\\r"
      case "\t": output += "\\t"
      default:
        if isUnseen(scalar.value) {
          output += unicodeEscape(scalar)
        } else {
          output.unicodeScalars.append(scalar)
        }
      }
    }
    return output + "\""
  }

  /// `\u001b`; for scalars of the basic plane.
  package static func unicodeEscape(_ scalar: Unicode.Scalar) -> String {
    "\\u" + Hexadecimal.text(scalar.value, digits: 4)
  }

  private static func isUnseen(_ value: UInt32) -> Bool {
    value < 0x20 || (0x7F...0x9F).contains(value) || value == 0x2028 || value == 0x2029
  }
}
