import Testing

@Suite struct IdentifierTests {
  @Test func idsAreComparedByTheirBytes() {
    report(PackageTree.swiftFiles.flatMap { IdentifierRules.violations(in: $0) })
  }

  // MARK: - The rules can fail

  private func broken(_ text: String, _ path: String = "Sources/Pipeline/A.swift") -> Int {
    IdentifierRules.violations(in: SourceFile(path: path, text: text)).count
  }

  @Test(arguments: [
    "var runs: [String: Run] = [:]", "var users: Set<String> = []",
    "let a: Dictionary<String, Int>", "if push.user == user {", "$0.token != other.token",
    "return first.owner == name",
  ])
  func findsThem(_ text: String) { #expect(broken(text) == 1) }

  @Test(arguments: [
    "var runs: [ExactText: Run] = [:]", "if user.isExactly(other) {", "verdict.member == nil",
    "if lastEncoded.token === token {", "// $0.user == user", "let lua = \"if a.user == b then\"",
  ])
  func passesOthers(_ text: String) { #expect(broken(text) == 0) }

  @Test func othersAreNotLookedAt() {
    #expect(broken("var a: [String: Int]", "Sources/Terminal/A.swift") == 0)
    #expect(broken("var a: [String: Int]", "Tests/PipelineTests/A.swift") == 0)
    #expect(broken("package var apps: [String: Int]", "Sources/Model/PushLimit.swift") == 0)
  }
}
