import Checkout
import Testing

/// Where the documents point to.
@Suite struct LinkTests {
  private static let tree = PackageTree.this
  private static let documents =
    tree.names(in: "").filter { $0.hasSuffix(".md") }
    + tree.files(under: "docs", withSuffix: ".md")

  @Test func everyLinkLeadsSomewhere() {
    #expect(Self.documents.count > 10)
    report(Self.documents.flatMap { Self.broken(in: $0, text: Self.tree.text(of: $0)) })
  }

  @Test func everyPathThatIsNamedIsThere() {
    let named = Self.documents.flatMap { path in
      Self.paths(in: Self.tree.text(of: path)).map { (path, $0) }
    }
    #expect(named.count > 60)
    report(
      named.filter { !Self.tree.exists($0.1.text) }.map { path, named in
        Violation(file: path, line: named.line, rule: "there is no \(named.text)")
      })
  }

  /// What a document names as a file or folder of the package.
  private static func paths(in text: String) -> [(text: String, line: Int)] {
    let name = /`((?:Sources|Tests|Config|docs|docker)\/[A-Za-z0-9_.+\/-]+)`/
    return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().flatMap {
      index, line in
      guard line.mentions("`") else { return [(text: String, line: Int)]() }
      return line.matches(of: name).map {
        (String($0.1), index + 1)
      }
    }
  }

  @Test func findsPathsThatAreNamed() {
    let text = "a\n`Sources/A.swift` and `Tests/B/C+D.swift`, `swift build`\n"
    #expect(Self.paths(in: text).map(\.text) == ["Sources/A.swift", "Tests/B/C+D.swift"])
    #expect(Self.paths(in: text).map(\.line) == [2, 2])
    #expect(!Self.tree.exists("Sources/A.swift"))
  }

  /// Folders inside rooms, which the picture of the rooms lists, as it lists the rooms.
  @Test func theRoomsFoldersAreListed() {
    let listed = Self.tree.text(of: "docs/architecture.md").split(separator: "\n")
      .drop { $0 != "| Folder | What is in it |" }.dropFirst(2).prefix { $0.hasPrefix("|") }
      .flatMap { row in
        (row.split(separator: "|").first ?? "").matches(of: /`([^`]+)`/).map { String($0.1) }
      }
    #expect(listed.sorted() == Self.foldersInRooms().sorted())
    #expect(Set(listed).count == listed.count && listed.count > 30)
  }

  /// Without `Sources/`.
  private static func foldersInRooms() -> [String] {
    let folders = tree.files(under: "Sources", withSuffix: ".swift").compactMap { file -> String? in
      let steps = file.split(separator: "/").dropFirst().dropLast()
      let isShelved = ["Bindings", "C", "Platforms", "Stages"].contains(steps.first)
      return steps.count > (isShelved ? 2 : 1) ? steps.joined(separator: "/") : nil
    }
    return Array(Set(folders))
  }

  /// Links that name no file of the package, or no heading of a document.
  private static func broken(in path: String, text: String) -> [Violation] {
    let link = /\]\(([^)]+)\)/
    return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().flatMap {
      index, line in
      guard line.mentions("](") else { return [Violation]() }
      return line.matches(of: link).compactMap { match -> Violation? in
        let target = String(match.1)
        guard !target.hasPrefix("https://"), !leads(target, from: path) else { return nil }
        return Violation(file: path, line: index + 1, rule: "\(target) leads nowhere")
      }
    }
  }

  private static func leads(_ target: String, from path: String) -> Bool {
    let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    var folders = path.split(separator: "/").dropLast().map(String.init)
    for step in parts[0].split(separator: "/") {
      if step == ".." { _ = folders.popLast() } else { folders.append(String(step)) }
    }
    let file = parts[0].isEmpty ? path : folders.joined(separator: "/")
    guard tree.exists(file) else { return false }
    return parts.count == 1 || Checkout.anchors(of: tree.text(of: file)).contains(String(parts[1]))
  }

  @Test(arguments: [
    ("[a](README.md)", true), ("[a](nowhere.md)", false),
    ("[a](docs/redis.md#who-may-do-what)", true),
    ("[a](docs/redis.md#nobody)", false),
    ("[a](docs/operations.md#redis-is-down)", true), ("[a](https://example.com/x)", true),
    ("[a](Config/templates/)", true),
  ])
  func findsLinksThatLeadNowhere(text: String, isGood: Bool) {
    #expect(Self.broken(in: "README.md", text: text).isEmpty == isGood)
  }
}
