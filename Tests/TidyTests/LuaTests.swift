import Testing

@Suite struct LuaTests {
  @Test func noScriptStandsInAStringOfSwift() {
    report(PackageTree.swiftFiles.flatMap { LuaRules.violations(in: $0) })
  }

  @Test func filesAndLinesOfLuaKeepTheirBounds() {
    let tree = PackageTree.this
    let files = tree.files(under: "Sources", withSuffix: ".lua")
    #expect(!files.isEmpty)
    report(files.flatMap { LuaRules.violations(in: $0, tree.text(of: $0)) })
  }

  @Test func argumentsHaveTheNamesThatCallsGiveThem() {
    let tree = PackageTree.this
    for folder in tree.rooms().values.sorted() {
      let scripts = tree.files(under: folder + "/Lua", withSuffix: ".lua")
      if scripts.isEmpty { continue }
      let swift = tree.files(under: folder, withSuffix: ".swift").map { tree.text(of: $0) }
      report(scripts.flatMap { LuaRules.strangers(in: $0, tree.text(of: $0), swift: swift) })
    }
  }

  // MARK: - The rules can fail

  @Test func findsArgumentsThatNobodyGives() {
    let text = "return args.user .. args.number .. big_args.x"
    let broken = LuaRules.strangers(in: "a.lua", text, swift: ["[\"user\": a]", "\"numbers\": b"])
    #expect(broken.map(\.rule) == ["args.number: no call gives an argument of this name"])
  }

  @Test(arguments: [
    "let a = \"return redis.call('GET', KEYS[1])\"", "  redis.pcall('GET')", "local a = ARGV[1]",
  ])
  func findsLuaInSwift(_ line: String) {
    let file = SourceFile(path: "Sources/Model/A.swift", text: "\n\(line)\n")
    #expect(LuaRules.violations(in: file).first?.line == 2)
    let test = SourceFile(path: "Tests/RedisTests/A.swift", text: line)
    #expect(LuaRules.violations(in: test) == [])
  }

  private func lines(_ text: String) -> [Int] {
    LuaRules.violations(in: "Sources/Model/Lua/a.lua", text).map(\.line)
  }

  @Test func findsWhatIsTooLong() {
    let wide = String(repeating: "é", count: 98)
    #expect(lines("-- \(wide.dropLast())\n") == [])
    #expect(lines("-- \(wide)\n") == [1])
    #expect(lines(String(repeating: "-- a\n", count: 300)) == [])
    #expect(lines(String(repeating: "-- a\n", count: 301)) == [0])
  }

  @Test(arguments: ["   return 1", "\treturn 1", "return 1 "])
  func findsBlanksThatDoNotBelong(_ line: String) {
    #expect(lines("-- a\nif b then\n  return 1\nend\n") == [])
    #expect(lines("-- a\n\(line)\n") == [2])
  }

  @Test func findsAFileWithoutAHeadOrOutsideOfItsFolder() {
    #expect(lines("return 1\n") == [1])
    #expect(lines("-- a") == [0])
    #expect(LuaRules.violations(in: "Sources/Model/a.lua", "-- a\n").map(\.line) == [0])
  }
}
