import Text

/// JSON written out: for command output, log lines and ledgers, not for the hot path (Render has
/// its own).
package enum JSONText {
  /// Without white space. A double that is not finite becomes `null`, as ECMAScript writes it.
  package static func compact(_ value: JSONValue) -> String {
    var output = ""
    append(value, to: &output)
    return output
  }

  private static func append(_ value: JSONValue, to output: inout String) {
    switch value {
    case .null: output += "null"
    case .bool(let flag): output += flag ? "true" : "false"
    case .integer(let number): output += String(number)
    case .double(let number): output += number.isFinite ? number.description : "null"
    case .string(let text): output += JSONString.quoted(text)
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
        output += JSONString.quoted(member.name)
        output += ":"
        append(member.value, to: &output)
      }
      output += "}"
    }
  }
}
