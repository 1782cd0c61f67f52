import Testing

@Suite struct SizeTests {
  @Test func filesFunctionsAndLinesKeepTheirBounds() {
    report(PackageTree.swiftFiles.flatMap { SizeRules.violations(in: $0) })
  }

  // MARK: - The rules can fail

  private func broken(_ text: String) -> [Violation] {
    SizeRules.violations(in: SourceFile(path: "Sources/Model/A.swift", text: text))
  }

  private func lines(_ count: Int) -> String {
    String(repeating: "  let a = 1\n", count: count)
  }

  @Test func findsLongFiles() {
    #expect(broken(lines(500)) == [])
    #expect(broken(lines(501)).map(\.line) == [0])
  }

  @Test func findsLongLines() {
    #expect(broken("// " + String(repeating: "é", count: 97)) == [])
    #expect(broken("\n// " + String(repeating: "é", count: 98)).map(\.line) == [2])
    #expect(broken("// https://example.com/" + String(repeating: "a", count: 98)) == [])
  }

  @Test(arguments: [
    "func a() {", "package static func a() -> Int {", "init(a: Int) {", "package init?(a: Int) {",
    "deinit {", "subscript(a: Int) -> Int {", "private var a: Int {",
    "mutating func a(\n  b: Int\n) {",
    "func a<T>(_ b: T = { 1 }())\nwhere T: Sendable {", "@discardableResult package func a() {",
    "static func == (a: A, b: A) -> Bool {",
  ])
  func findsLongFunctions(_ head: String) {
    let headLines = head.split(separator: "\n").count
    #expect(broken("\(head)\n\(lines(69 - headLines))}\n") == [])
    #expect(broken("\(head)\n\(lines(70 - headLines))}\n").map(\.line) == [1])
  }

  @Test func countsNoBodyWhereThereIsNone() {
    #expect(broken("protocol A {\n  func a()\n\(lines(80))}\n") == [])
    #expect(broken("func a() { b = \"{\" }\n\(lines(80))}\n") == [])
    #expect(broken("func a() {  // {\n}\n\(lines(80))}\n") == [])
  }
}
