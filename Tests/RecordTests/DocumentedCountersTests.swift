import Checkout
import Testing

@testable import Record

/// docs/redis.md says what each counter counts.
@Suite struct DocumentedCountersTests {
  @Test func everyCounterIsNamed() throws {
    let page = try Checkout.text("docs/redis.md")
    let names = FanOutCounter.allCases.map(\.rawValue) + RecordStage.seriesFields
    #expect(names.filter { !page.contains("`\($0)`") } == [])
  }
}
