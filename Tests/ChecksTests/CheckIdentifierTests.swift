import Checkout
import Testing

/// The ids of what is checked are read by scripts: docs/operations.md has each.
@Suite struct CheckIdentifierTests {
  private static let folders = ["Sources/Checks", "Sources/Checks/Doctor"]

  /// The ids that the sources give to lines.
  private func given() throws -> Set<String> {
    let call = #/(?:list|found)\.(?:ok|warning|problem|skipped|add)\(\s*(?://.*\n\s*)?"([^"\\]+)"/#
    let name = #/\bid(?:: | = )"([^"\\]+)"/#
    let choice = #/\? "(tls\.\w+)" : "(tls\.\w+)"/#
    var ids: Set<String> = []
    for folder in Self.folders {
      for file in try Checkout.names(in: folder) where file.hasSuffix(".swift") {
        let text = try Checkout.text("\(folder)/\(file)")
        ids.formUnion(text.matches(of: call).map { String($0.output.1) })
        ids.formUnion(text.matches(of: name).map { String($0.output.1) })
        for match in text.matches(of: choice) {
          ids.formUnion([String(match.output.1), String(match.output.2)])
        }
      }
    }
    return ids
  }

  /// Those of the first column of the page's table.
  private func documented() throws -> [String] {
    let page = try Checkout.text("docs/operations.md")
    let start = try #require(page.range(of: "| Ids | What is asked |"))
    return page[start.upperBound...].split(separator: "\n", omittingEmptySubsequences: false)
      .dropFirst().prefix { $0.hasPrefix("|") }
      .compactMap { $0.split(separator: "|").first }
      .flatMap { $0.matches(of: #/`([a-z_]+\.[a-z_]+)`/#).map { String($0.output.1) } }
  }

  @Test func thePageHasEachIdOnce() throws {
    let (given, documented) = (try given(), try documented())
    #expect(given.count > 60)
    #expect(Set(documented) == given, "\(Set(documented).symmetricDifference(given).sorted())")
    #expect(documented.count == Set(documented).count)
  }
}
