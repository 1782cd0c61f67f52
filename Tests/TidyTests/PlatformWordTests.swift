import Testing

/// The room that sends to every platform names none, nor an interface of one.
@Suite struct PlatformWordTests {
  private static let words = ["apns", "apple", "legacy"]

  private static func violations(in file: SourceFile) -> [Violation] {
    guard file.room == "Deliver" else { return [] }
    return file.lines.enumerated().flatMap { index, line in
      words.filter(line.lowercased().contains).map {
        file.violation(index + 1, "\($0): Deliver knows platforms by PlatformAccount alone")
      }
    }
  }

  @Test func deliverNamesNoPlatform() {
    report(PackageTree.swiftFiles.flatMap(Self.violations))
  }

  @Test func aNameIsFoundInCodeAndComments() {
    let text = "struct APNsRoute {}\n// Apple says so.\nlet server = 1\n"
    let deliver = SourceFile(path: "Sources/Stages/Deliver/A.swift", text: text)
    #expect(Self.violations(in: deliver).map(\.line) == [1, 2])
    let platform = SourceFile(path: "Sources/Platforms/APNs/A.swift", text: text)
    #expect(Self.violations(in: platform).isEmpty)
  }
}
