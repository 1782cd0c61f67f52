import JSON
import Terminal
import Text

/// A payload to be shown: members stay in their order, and numbers as they were written, since
/// those that go out do so too.
extension JSONOutput {
  /// Nil for what is no JSON.
  init?(json: String) {
    guard let value = try? JSONValue.parseWithAnyIntegers(Array(json.utf8)) else { return nil }
    var numbers = Self.numbers(in: Array(json.utf8))[...]
    self.init(value, &numbers)
  }

  /// - Parameter numbers: those of the value and of what stands behind it, in their order.
  private init(_ value: JSONValue, _ numbers: inout ArraySlice<String>) {
    switch value {
    case .null: self = .null
    case .bool(let flag): self = .bool(flag)
    case .integer, .double: self = .digits(numbers.popFirst() ?? "0")
    case .string(let text): self = .text(text)
    case .array(let values):
      var shown: [JSONOutput] = []
      for value in values { shown.append(JSONOutput(value, &numbers)) }
      self = .array(shown)
    case .object(let members):
      var object = Terminal.JSONObject()
      for member in members.members { object[member.name] = JSONOutput(member.value, &numbers) }
      self = .object(object)
    }
  }

  /// Of a text that is JSON.
  private static func numbers(in json: [UInt8]) -> [String] {
    var numbers: [String] = []
    var (isInText, isEscaped) = (false, false)
    var number: [UInt8] = []
    for byte in json {
      if isInText {
        isInText = byte != UInt8(ascii: "\"") || isEscaped
        isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        continue
      }
      let begins = byte.isASCIIDigit || byte == UInt8(ascii: "-")
      if begins || (!number.isEmpty && "+.eE".utf8.contains(byte)) {
        number.append(byte)
        continue
      }
      if !number.isEmpty { numbers.append(String(decoding: number, as: UTF8.self)) }
      number = []
      isInText = byte == UInt8(ascii: "\"")
    }
    if !number.isEmpty { numbers.append(String(decoding: number, as: UTF8.self)) }
    return numbers
  }
}
