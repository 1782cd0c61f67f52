/// How long files, functions and lines may be, so that each is read at a sitting.
struct SizeRules {
  static let maximumFileLines = 500
  static let maximumFunctionLines = 70
  static let maximumLineColumns = 100

  static func violations(in file: SourceFile) -> [Violation] {
    var broken: [Violation] = []
    if file.lines.count > maximumFileLines {
      broken.append(
        file.violation(0, "\(file.lines.count) lines, at most \(maximumFileLines)"))
    }
    for (index, line) in file.lines.enumerated()
    where line.count > maximumLineColumns && !line.contains("://") {
      broken.append(
        file.violation(index + 1, "\(line.count) columns, at most \(maximumLineColumns)"))
    }
    for function in functions(in: file) where function.count > maximumFunctionLines {
      broken.append(
        file.violation(
          function.lowerBound + 1,
          "a function of \(function.count) lines, at most \(maximumFunctionLines)"))
    }
    return broken
  }

  /// The lines, from 0, of each function, initializer, subscript and computed property with a body.
  static func functions(in file: SourceFile) -> [ClosedRange<Int>] {
    file.code.indices.compactMap { start in
      guard isDeclaration(file.code[start]) else { return nil }
      return bodyEnd(from: start, in: file.code).map { start...$0 }
    }
  }

  private static func isDeclaration(_ line: String) -> Bool {
    guard declaring.contains(where: line.mentions) else { return false }
    let text = line.trimmingPrefix { $0 == " " }
    if text.hasPrefix("case ") || text.hasPrefix("return ") || text.hasPrefix("//") { return false }
    if text.contains("func ") && (text.hasPrefix("func ") || text.contains(" func ")) {
      return true
    }
    let words = text.split(separator: " ").drop {
      modifiers.contains(String($0)) || $0.hasPrefix("@")
    }
    guard let first = words.first else { return false }
    if ["init(", "init?(", "init<", "subscript(", "subscript<", "deinit"].contains(where: {
      first.hasPrefix($0)
    }) {
      return true
    }
    return first == "var" && text.hasSuffix("{") && !text.contains("=")
  }

  /// What each of them says.
  private static let declaring = ["func ", "init", "subscript", "var "]

  private static let modifiers: Set<String> = [
    "public", "package", "internal", "private", "fileprivate", "static", "class", "final",
    "override", "convenience", "required", "mutating", "nonisolated", "isolated", "lazy",
    "consuming", "borrowing",
  ]

  /// The line of the brace that closes the body, or nil for a requirement without one.
  private static func bodyEnd(from start: Int, in code: [String]) -> Int? {
    let indent = code[start].prefix { $0 == " " }.count
    var parentheses = 0
    var braces = 0
    for index in start..<code.count {
      let line = code[index]
      let lead = line.prefix { $0 == " " }.count
      if index > start, braces == 0, parentheses == 0, lead < line.count, lead <= indent,
        !["{", ")", "->", "where"].contains(where: { line.dropFirst(lead).hasPrefix($0) })
      {
        return nil
      }
      for character in line.utf8 {
        switch character {
        case UInt8(ascii: "("): parentheses += 1
        case UInt8(ascii: ")"): parentheses -= 1
        case UInt8(ascii: "{") where braces > 0 || parentheses == 0: braces += 1
        case UInt8(ascii: "}") where braces > 0:
          braces -= 1
          if braces == 0 { return index }
        default: break
        }
      }
    }
    return nil
  }
}
