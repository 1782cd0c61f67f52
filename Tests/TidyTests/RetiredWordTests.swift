import Testing

@Suite struct RetiredWordTests {
  @Test func noRetiredWordComesBack() {
    let tree = PackageTree.this
    let files =
      ["Sources", "Tests", "docs", "Config"].flatMap { folder in
        ["swift", "lua", "md", "yaml", "ini", "json"].flatMap {
          tree.files(under: folder, withSuffix: ".\($0)")
        }
      } + ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
    report(files.flatMap { RetiredWords.violations(in: $0, tree.text(of: $0)) })
  }

  // MARK: - The rules can fail

  @Test(arguments: [
    "// It begins anew.", "let patience = 3", "static let firstPatience = 1",
    "impatientBed(loop)", "/// What \("stands") at the key.", "Ensemble()", "let telling = 1",
  ])
  func finds(_ line: String) {
    let broken = RetiredWords.violations(in: "Sources/Model/A.swift", "\n\(line)\n")
    #expect(broken.map(\.line) == [2])
  }

  @Test(arguments: [
    "func aNewPush() {}", "makesANewOne()", "let foretelling = 1", "It withstands all.", "reseats",
  ])
  func readsOver(_ line: String) {
    #expect(RetiredWords.violations(in: "Sources/Model/A.swift", line) == [])
  }
}
