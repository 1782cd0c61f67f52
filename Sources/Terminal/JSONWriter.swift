import Text

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
