import Render

/// Reads the small part of YAML that the templates of these tests are written in, so that the tests
/// can be: block maps, lists of scalars and of maps, `[]` and `{}` empty, plain and double-quoted
/// scalars, comments. Places are YAML's.
struct TemplateReader {
  private struct Line {
    let number: Int
    let indent: Int
    let text: Substring
  }

  private var lines: [Line] = []
  private var next = 0

  static func source(_ yaml: String, name: String = "go-live") -> TemplateSource {
    var reader = TemplateReader()
    for (index, line) in yaml.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let text = line.drop { $0 == " " }
      guard !text.isEmpty, !text.hasPrefix("#") else { continue }
      reader.lines.append(Line(number: index + 1, indent: line.count - text.count, text: text))
    }
    return TemplateSource(name: name, file: "\(name).yaml", root: reader.block())
  }

  private mutating func block() -> TemplateSource.Node {
    guard next < lines.count else {
      return TemplateSource.Node(.null, TemplateSource.Place(line: 1, column: 1))
    }
    let indent = lines[next].indent
    let place = TemplateSource.Place(line: lines[next].number, column: indent + 1)
    var entries: [TemplateSource.Entry] = []
    var items: [TemplateSource.Node] = []
    while next < lines.count, lines[next].indent == indent {
      let line = lines[next]
      next += 1
      if line.text.hasPrefix("- "), Self.isMember(line.text.dropFirst(2)) {
        next -= 1
        lines[next] = Line(number: line.number, indent: indent + 2, text: line.text.dropFirst(2))
        items.append(block())
        continue
      }
      if line.text.hasPrefix("- ") {
        items.append(scalar(line.text.dropFirst(2), line.number, indent + 3))
        continue
      }
      let (key, rest) = Self.split(line.text)
      let column = indent + 1 + line.text.count - rest.count
      let keyPlace = TemplateSource.Place(line: line.number, column: indent + 1)
      let value = rest.isEmpty ? block() : scalar(rest, line.number, column)
      entries.append(TemplateSource.Entry(key: key, place: keyPlace, value: value))
    }
    return TemplateSource.Node(items.isEmpty ? .map(entries) : .list(items), place)
  }

  private static func isMember(_ text: Substring) -> Bool {
    text.first != "\"" && text.contains(": ")
  }

  private static func split(_ text: Substring) -> (String, Substring) {
    let colon = text.firstIndex(of: ":") ?? text.endIndex
    let key = text[..<colon].filter { $0 != "\"" }
    return (String(key), text[colon...].dropFirst().drop { $0 == " " })
  }

  private func scalar(_ text: Substring, _ line: Int, _ column: Int) -> TemplateSource.Node {
    let place = TemplateSource.Place(line: line, column: column)
    if text.hasPrefix("\"") { return TemplateSource.Node(.string(Self.quoted(text)), place) }
    let comment = text.firstRange(of: " #")?.lowerBound ?? text.endIndex
    var plain = String(text[..<comment])
    while plain.last == " " { plain.removeLast() }
    if plain.isEmpty || plain.hasPrefix("#") || plain == "{}" {
      return TemplateSource.Node(.map([]), place)
    }
    let value: TemplateSource.Value =
      switch plain {
      case "null": .null
      case "true": .boolean(true)
      case "false": .boolean(false)
      case "[]": .list([])
      default:
        Int64(plain).map { .integer($0) } ?? Double(plain).map { .number($0) } ?? .string(plain)
      }
    return TemplateSource.Node(value, place)
  }

  private static func quoted(_ text: Substring) -> String {
    var result = String.UnicodeScalarView()
    var rest = text.unicodeScalars.dropFirst()
    while let scalar = rest.popFirst(), scalar != "\"" {
      guard scalar == "\\", let escape = rest.popFirst() else {
        result.append(scalar)
        continue
      }
      switch escape {
      case "n": result.append("\n")
      case "u":
        let digits = String(Substring(rest.prefix(4)))
        rest = rest.dropFirst(4)
        if let code = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) { result.append(code) }
      default: result.append(escape)
      }
    }
    return String(result)
  }
}
