/// Text as a JSON string, for command output, configuration and answers; rendering has its own.
package enum JSONString {
  /// Quotes included. Escapes what RFC 8259, section 7, demands, and what drives a terminal or
  /// breaks a line in some readers: DEL, C1 controls, U+2028 and U+2029.
  package static func quoted(_ text: String) -> String {
    var output: [UInt8] = []
    append(text, to: &output)
    return String(decoding: output, as: UTF8.self)
  }

  /// As above, behind what is there.
  package static func append(_ text: String, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    if text.utf8.allSatisfy(\.isPlainASCII) {
      output += text.utf8
    } else {
      for scalar in text.unicodeScalars { append(scalar, to: &output) }
    }
    output.append(UInt8(ascii: "\""))
  }

  private static func append(_ scalar: Unicode.Scalar, to output: inout [UInt8]) {
    switch scalar {
    case "\"": output += "\\\"".utf8
    case "\\": output += "\\\\".utf8
    case "\n": output += "\\n".utf8
    case "\r": output += "\\r".utf8
    case "\t": output += "\\t".utf8
    default:
      if isUnseen(scalar.value) {
        output += unicodeEscape(scalar).utf8
      } else {
        output += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
      }
    }
  }

  /// `\u001b`; for scalars of the basic plane.
  package static func unicodeEscape(_ scalar: Unicode.Scalar) -> String {
    "\\u" + Hexadecimal.text(scalar.value, digits: 4)
  }

  private static func isUnseen(_ value: UInt32) -> Bool {
    value < 0x20 || (0x7F...0x9F).contains(value) || value == 0x2028 || value == 0x2029
  }
}
