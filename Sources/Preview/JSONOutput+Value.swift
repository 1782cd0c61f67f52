import JSON
import Terminal

extension JSONOutput {
  /// What was parsed, to be printed; members stay in their order.
  init(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .bool(let flag): self = .bool(flag)
    case .integer(let number): self = .integer(Int(number))
    case .double(let number): self = .number(number, digits: 9)
    case .string(let text): self = .text(text)
    case .array(let values): self = .array(values.map { JSONOutput($0) })
    case .object(let members):
      var object = Terminal.JSONObject()
      for member in members.members { object[member.name] = JSONOutput(member.value) }
      self = .object(object)
    }
  }
}
