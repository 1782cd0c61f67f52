import Testing

@testable import Record

/// What files of Lua say again that Swift says first.
@Suite struct LuaConstantTests {
  private func names(_ counters: [FanOutCounter]) -> [String] { counters.map(\.rawValue) }

  /// The texts of a table that is a local of a script.
  private func table(_ name: String, in source: String) -> [String] {
    let table = source.split(separator: "local \(name) = {").last?.prefix { $0 != "}" } ?? ""
    return table.matches(of: /'([^']*)'/).map { String($0.1) }
  }

  @Test func theFiguresOfAFanOutAreTheCounters() {
    let source = RecordScripts.settle.source
    #expect(table("figures", in: source) == names(FanOutCounter.figures))
    #expect(
      table("rare_figures", in: source)
        == names(FanOutCounter.rareFigures + FanOutCounter.times))
    #expect(table("summarized", in: source) == names(FanOutCounter.summarized))
  }

  /// Redis' clock was ahead where an end is further off.
  @Test func noClaimEndsLaterThanTheLongest() {
    let farthest = Claim.longestLifetime + .seconds(10)
    #expect(
      ClaimScripts.renew.source.contains(
        "local farthest_ms = \(RecordStage.milliseconds(farthest))\n"))
  }
}
