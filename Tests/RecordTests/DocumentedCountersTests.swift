import Foundation
import Testing

@testable import Record

/// docs/redis.md says what each counter counts.
@Suite struct DocumentedCountersTests {
  @Test func everyCounterIsNamed() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appendingPathComponent("docs/redis.md"), encoding: .utf8)
    let names = FanOutCounter.allCases.map(\.rawValue) + RecordStage.seriesFields
    #expect(names.filter { !page.contains("`\($0)`") } == [])
  }
}
