import Checkout
import Foundation
import Testing

/// A place in the package that breaks a rule, and what the rule says.
struct Violation: Equatable, CustomStringConvertible {
  let file: String
  /// From 1; 0 when it is the file itself.
  let line: Int
  let rule: String

  var description: String { line == 0 ? "\(file): \(rule)" : "\(file):\(line): \(rule)" }
}

/// One issue per violation, so that each stands on a line of its own.
func report(_ violations: [Violation], sourceLocation: SourceLocation = #_sourceLocation) {
  for violation in violations {
    Issue.record("\(violation)", sourceLocation: sourceLocation)
  }
}

/// The files of the package as they stand on disk. Paths are relative to the package's root.
struct PackageTree: Sendable {
  let root: URL

  static let this = PackageTree(root: URL(fileURLWithPath: Checkout.root))

  /// Every Swift file under Sources and Tests, read and taken apart once.
  static let swiftFiles: [SourceFile] = ["Sources", "Tests"].flatMap { folder in
    this.files(under: folder, withSuffix: ".swift").map {
      SourceFile(path: $0, text: this.text(of: $0))
    }
  }

  func names(in folder: String) -> [String] {
    let path = root.appendingPathComponent(folder).path
    return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }

  func folders(in folder: String) -> [String] {
    names(in: folder).filter { isFolder("\(folder)/\($0)") }
  }

  func files(under folder: String, withSuffix suffix: String) -> [String] {
    let path = root.appendingPathComponent(folder).path
    let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    return names.filter { $0.hasSuffix(suffix) }.map { "\(folder)/\($0)" }.sorted()
  }

  func text(of path: String) -> String {
    (try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)) ?? ""
  }

  func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
  }

  /// Room → folder: what stands right under Sources, and under its three storeys.
  func rooms() -> [String: String] {
    var found: [String: String] = [:]
    for name in folders(in: "Sources") where !Self.storeys.contains(name) {
      found[name] = "Sources/\(name)"
    }
    for storey in Self.storeys {
      for name in folders(in: "Sources/\(storey)") { found[name] = "Sources/\(storey)/\(name)" }
    }
    return found
  }

  private static let storeys = ["C", "Bindings", "Platforms", "Stages"]

  private func isFolder(_ path: String) -> Bool {
    var folder: ObjCBool = false
    let path = root.appendingPathComponent(path).path
    return FileManager.default.fileExists(atPath: path, isDirectory: &folder) && folder.boolValue
  }
}

/// One Swift file, taken apart into code and comments that keep the file's lines.
struct SourceFile: Sendable {
  let path: String
  let lines: [String]
  /// The lines with comments and the contents of string literals blanked out.
  let code: [String]
  /// The lines with everything but comments blanked out.
  let comments: [String]

  init(path: String, text: String) {
    self.path = path
    let parts = SourceText(text)
    lines = Self.split(Array(text.utf8))
    code = Self.split(parts.code)
    comments = Self.split(parts.comments)
  }

  var isSource: Bool { path.hasPrefix("Sources/") }
  var isTest: Bool { path.hasPrefix("Tests/") }
  var isBinding: Bool { path.hasPrefix("Sources/Bindings/") }

  /// `EventLoop` of `Sources/Bindings/EventLoop/Poller.swift`; nil in Tests.
  var room: String? {
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count > 2, parts[0] == "Sources" else { return nil }
    return ["C", "Bindings", "Platforms", "Stages"].contains(parts[1]) ? parts[2] : parts[1]
  }

  /// The target that it belongs to.
  var target: String? {
    if let room { return room }
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count > 2, parts[0] == "Tests" else { return nil }
    return parts[1] == "Bed" ? "TestBed" : parts[1]
  }

  func violation(_ line: Int, _ rule: String) -> Violation {
    Violation(file: path, line: line, rule: rule)
  }

  /// Without the empty line after a last newline.
  private static func split(_ bytes: [UInt8]) -> [String] {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines.map { String(decoding: $0, as: UTF8.self) }
  }
}
