import Text

/// A value that `--json` prints. Members keep the order in which they were written, so that people
/// can read what scripts parse. Written here because the strict parser's library is for reading
/// and sorts nothing.
package indirect enum JSONOutput: Sendable, Equatable {
  case null
  case bool(Bool)
  case integer(Int)
  /// Rounded to at most `digits` (0…9) after the point; what is no number becomes null.
  case number(Double, digits: Int = 3)
  /// A number of JSON as it was written.
  case digits(String)
  case text(String)
  case array([JSONOutput])
  case object(JSONObject)

  /// One line, or indented by two spaces; without a line break at the end.
  package func serialized(indented: Bool = false) -> String {
    var writer = JSONWriter(indented: indented)
    writer.write(self)
    return writer.text
  }
}

/// Members keep their order.
package typealias JSONObject = NamedValues<JSONOutput>

extension JSONOutput: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .text(value) }
  package init(integerLiteral value: Int) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .number(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(nilLiteral: ()) { self = .null }
  package init(arrayLiteral elements: JSONOutput...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSONOutput)...) {
    var object = JSONObject()
    for (name, value) in elements { object[name] = value }
    self = .object(object)
  }
}

struct JSONWriter {
  private(set) var text = ""
  let indented: Bool
  private var depth = 0

  init(indented: Bool) { self.indented = indented }

  mutating func write(_ value: JSONOutput) {
    switch value {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += String(value)
    case .number(let value, let digits): writeNumber(value, digits: digits)
    case .digits(let value): text += value
    case .text(let value): text += JSONString.quoted(value)
    case .array(let values):
      writeList("[", "]", values) { writer, value in writer.write(value) }
    case .object(let object):
      writeList("{", "}", object.members) { writer, member in
        writer.text += JSONString.quoted(member.name)
        writer.text += writer.indented ? ": " : ":"
        writer.write(member.value)
      }
    }
  }

  private mutating func writeList<Element>(
    _ open: String, _ close: String, _ elements: [Element],
    _ body: (inout JSONWriter, Element) -> Void
  ) {
    text += open
    depth += 1
    for (index, element) in elements.enumerated() {
      if index > 0 { text += "," }
      breakLine()
      body(&self, element)
    }
    depth -= 1
    if !elements.isEmpty { breakLine() }
    text += close
  }

  private mutating func breakLine() {
    guard indented else { return }
    text += "\n" + String(repeating: "  ", count: depth)
  }

  private mutating func writeNumber(_ value: Double, digits: Int) {
    guard value.isFinite else {
      text += "null"
      return
    }
    var rounded = Figures.fixed(value, digits: digits)
    if rounded.contains("."), !rounded.contains("e") {
      while rounded.hasSuffix("0") { rounded.removeLast() }
      if rounded.hasSuffix(".") { rounded.removeLast() }
    }
    text += rounded == "-0" ? "0" : rounded
  }
}
