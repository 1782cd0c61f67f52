import Checkout
import Foundation
import Testing

/// docs/redis.md is where operators look up what a key is.
@Suite struct DocumentedKeysTests {
  /// With `*` for whatever differs from key to key.
  private func keys(in source: String) -> Set<String> {
    let literals = source.matches(of: /"\\\((data|dashboards)Prefix\)(?<rest>[^"]*)"/).map {
      let rest = String($0.output.rest).replacing("\\(Self.setAside)", with: ":quarantined")
      return ($0.output.1 == "data" ? "ffd:" : "ff:")
        + rest.replacing(/\\\((?:[^()]|\([^()]*\))*\)/, with: "*")
    }
    return Set(
      literals.filter { $0.count { $0 == "{" } == $0.count { $0 == "}" } }
        .map { $0.replacing(/\*+/, with: "*") })
  }

  @Test func everyKeyIsInTheTable() throws {
    let known = keys(in: try Checkout.text("Sources/Keyspace/Keyspace.swift"))
    #expect(known.count > 20)
    let page = try Checkout.text("docs/redis.md")
    let documented = Set(
      page.split(separator: "\n").filter { $0.hasPrefix("| `ff") }
        .flatMap { $0.matches(of: /`(ffd?:[^`]*)`/).map(\.output.1) }
        .map { String($0).replacing(/<[^>]*>|Y{4}MMDD(HHMM)?/, with: "*") })
    #expect(known.subtracting(documented) == [])
    #expect(documented.subtracting(known) == [])
  }
}
