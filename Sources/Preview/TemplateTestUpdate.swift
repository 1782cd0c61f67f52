import JSON
import Render
import Terminal
import Text

/// Writes what is there now into a file of tests. Everything but the changed `expect` stays as it
/// was, comments too.
package enum TemplateTestUpdate {
  /// The new text of the file.
  /// - Throws: where a case is written so that its lines cannot be told apart.
  package static func text(
    _ text: String, file: String, _ results: [TemplateTest.Result]
  ) throws(CommandFailure) -> String {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    // From the end, so that places before stay right.
    for result in results.reversed() where !result.isPassed {
      try update(&lines, result, file)
    }
    return lines.joined(separator: "\n")
  }

  private static func update(
    _ lines: inout [String], _ result: TemplateTest.Result, _ file: String
  ) throws(CommandFailure) {
    let tested = result.tested
    let place = tested.expectPlace ?? tested.place
    let first = place.line - 1
    guard lines.indices.contains(first) else { return }
    let prefix = String(lines[first].prefix(place.column - 1))
    guard prefix.allSatisfy({ $0 == " " || $0 == "-" }) else {
      throw CommandFailure(
        .failed,
        "\(file):\(place.line): --update cannot change the case '\(tested.name)': write each of "
          + "its keys on a line of its own")
    }
    let indent = String(repeating: " ", count: place.column - 1)
    let block = tree(result.actual).lines("expect", indent)
    // The lines that belong to the key, or to the case.
    var end = first + 1
    let least = tested.expectPlace == nil ? indent.count : indent.count + 1
    while end < lines.count, isBlank(lines[end]) || indentation(lines[end]) >= least { end += 1 }
    while end > first + 1, isBlank(lines[end - 1]) { end -= 1 }
    if tested.expectPlace == nil {
      lines.insert(contentsOf: block, at: end)
    } else {
      lines.replaceSubrange(first..<end, with: [prefix + block[0].dropFirst(indent.count)])
      lines.insert(contentsOf: block.dropFirst(), at: first + 1)
    }
  }

  private static func isBlank(_ line: String) -> Bool {
    line.allSatisfy { $0 == " " || $0 == "\r" }
  }
  private static func indentation(_ line: String) -> Int { line.prefix { $0 == " " }.count }

  // MARK: YAML

  private struct Tree {
    var value: JSONValue?
    var members: [(name: String, tree: Tree)] = []

    mutating func set(_ path: ArraySlice<String>, _ value: JSONValue) {
      guard let name = path.first else {
        self.value = value
        return
      }
      let index = members.firstIndex { $0.name == name } ?? members.count
      if index == members.count { members.append((name, Tree())) }
      members[index].tree.set(path.dropFirst(), value)
    }

    func lines(_ name: String, _ indent: String) -> [String] {
      let key = indent + Self.key(name) + ":"
      // JSON is YAML.
      if let value { return [key + " " + TemplateCases.output(value).serialized()] }
      return [key] + members.flatMap { $0.tree.lines($0.name, indent + "  ") }
    }

    private static func key(_ name: String) -> String {
      let isPlain =
        name.utf8.allSatisfy { $0.isASCIIWord || $0 == 0x5F || $0 == 0x2D }
        && name.utf8.first?.isASCIILetter == true
      return isPlain ? name : JSONString.quoted(name)
    }
  }

  private static func tree(_ statements: [TemplateCases.Statement]) -> Tree {
    var tree = Tree()
    for statement in statements { tree.set(statement.path[...], statement.value) }
    return tree
  }
}
