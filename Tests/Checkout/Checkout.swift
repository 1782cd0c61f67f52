import FoundationEssentials

/// The repository that the tests were built from: its documents, its configuration and its examples
/// are held to what the code says.
package enum Checkout {
  /// Without a slash at its end. This file is three steps below it.
  package static let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()

  /// - Parameter path: `docs/redis.md`.
  package static func path(_ path: String) -> String { root + "/" + path }

  package static func text(_ path: String) throws -> String {
    try String(contentsOfFile: Self.path(path), encoding: .utf8)
  }

  /// What links to a document may lead to: its headings, named as GitHub does, and rows of tables
  /// with an anchor of their own (`<a id="redis-is-down"></a>`).
  package static func anchors(of text: String) -> Set<String> {
    let lines = text.split(separator: "\n")
    let headings = lines.filter { $0.hasPrefix("#") }.map { line in
      line.drop { $0 == "#" }.drop { $0 == " " }.lowercased().compactMap {
        $0 == " " ? "-" : $0.isLetter || $0.isNumber || $0 == "-" ? String($0) : nil
      }.joined()
    }
    let rows = lines.filter { $0.hasPrefix("| <a id=\"") }.compactMap { line in
      line.split(separator: "\"", maxSplits: 2).dropFirst().first.map(String.init)
    }
    return Set(headings + rows)
  }

  /// - Parameter path: of a document, `docs/redis.md`.
  package static func anchors(in path: String) throws -> Set<String> { anchors(of: try text(path)) }

  /// What a folder holds, without what that holds.
  package static func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path(folder)).sorted()
  }

  /// For what code makes and a test holds to it: written when somebody asks for that by setting
  /// `variable`, and then read.
  package static func made(_ path: String, from text: String, variable: String) throws -> String {
    if ProcessInfo.processInfo.environment[variable] != nil {
      try text.write(toFile: Self.path(path), atomically: true, encoding: .utf8)
    }
    return try Self.text(path)
  }
}
