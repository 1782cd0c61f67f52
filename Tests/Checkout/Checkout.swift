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
