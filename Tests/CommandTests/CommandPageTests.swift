import Checkout
import Terminal
import Testing

@testable import fanfare

/// docs/commands.md says what the commands are; what it says of them is made from their
/// declarations.
@Suite struct CommandPageTests {
  /// The commands with their exit codes, a line each.
  private static func commands(_ verbs: [Verb], prefix: String) -> [String] {
    verbs.filter { !$0.isHidden }.flatMap { verb -> [String] in
      let name = "\(prefix) \(verb.name)"
      guard verb.verbs.isEmpty else { return commands(verb.verbs, prefix: name) }
      let codes = Set(verb.exitCodes + [.usage]).map(\.rawValue).sorted().map(String.init)
      return ["| `\(name)` | \(verb.summary) | \(codes.joined(separator: ", ")) |"]
    }
  }

  private static var page: String {
    (["| Command | What it does | Exit codes |", "|---|---|---|"]
      + commands(fanfareProgram.verbs, prefix: "fanfare")
      + ["", "| Exit code | Meaning |", "|---|---|"]
      + ExitCode.allCases.map { "| \($0.rawValue) | \($0.meaning) |" }).joined(separator: "\n")
  }

  /// When this fails, put what it prints between the marks.
  @Test func thePageIsWhatTheDeclarationsSay() throws {
    let text = try Checkout.text("docs/commands.md")
    let begin = "<!-- made from the declarations; CommandPageTests prints it -->\n"
    let parts = text.components(between: begin, and: "\n<!-- end -->")
    #expect(parts == Self.page, "\(Self.page)")
  }
}

extension String {
  fileprivate func components(between begin: String, and end: String) -> String? {
    guard let start = firstRange(of: begin)?.upperBound,
      let finish = self[start...].firstRange(of: end)?.lowerBound
    else { return nil }
    return String(self[start..<finish])
  }
}
