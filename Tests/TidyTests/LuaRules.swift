/// Lua is in files of its own, which are held to the bounds of Swift's, and luacheck looks at
/// (`make lint`): none stands in a string of Swift.
struct LuaRules {
  static let maximumLines = 300
  static let maximumColumns = SizeRules.maximumLineColumns

  /// What only a script says.
  private static let calls = ["redis." + "call", "redis." + "pcall", "KEYS" + "[", "ARGV" + "["]

  static func violations(in file: SourceFile) -> [Violation] {
    guard file.isSource else { return [] }
    return file.lines.enumerated().flatMap { index, line in
      calls.filter { line.mentions($0) }.map {
        file.violation(index + 1, "\($0) in Swift: it belongs into a file of Lua")
      }
    }
  }

  /// Arguments that a script reads by a name under which no call of its module gives one.
  /// - Parameter swift: the texts of the module's files.
  static func strangers(in path: String, _ text: String, swift: [String]) -> [Violation] {
    let names = Set(text.matches(of: /\bargs\.(\w+)/).map { String($0.1) })
    return names.sorted().filter { name in !swift.contains { $0.mentions("\"\(name)\":") } }.map {
      Violation(file: path, line: 0, rule: "args.\($0): no call gives an argument of this name")
    }
  }

  /// - Parameter text: of a file of Lua under Sources.
  static func violations(in path: String, _ text: String) -> [Violation] {
    var broken: [Violation] = []
    func add(_ line: Int, _ rule: String) {
      broken.append(Violation(file: path, line: line, rule: rule))
    }
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() } else { add(0, "no newline at its end") }
    if lines.count > maximumLines { add(0, "\(lines.count) lines, at most \(maximumLines)") }
    if !path.contains("/Lua/") { add(0, "scripts are in the folder Lua of their target") }
    if lines.first?.hasPrefix("-- ") != true {
      add(1, "says at its head what it does, and what its keys, arguments and answers are")
    }
    for (index, line) in lines.enumerated() {
      if line.count > maximumColumns {
        add(index + 1, "\(line.count) columns, at most \(maximumColumns)")
      }
      if line.prefix(while: { $0 == " " }).count % 2 == 1 { add(index + 1, "indented by two") }
      if line.contains("\t") || line.hasSuffix(" ") {
        add(index + 1, "a tab, or a blank at its end")
      }
    }
    return broken
  }
}
