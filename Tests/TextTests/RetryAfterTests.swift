import Testing
import Text

@Suite struct RetryAfterTests {
  private func parse(_ text: String, now: Int64 = 0) -> Duration? {
    Array(text.utf8).withUnsafeBytes { RetryAfter.parse($0, now: now) }
  }

  @Test func readsSecondsAndDates() {
    #expect(parse("0") == .zero)
    #expect(parse("120") == .seconds(120))
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    #expect(parse(date, now: 784_111_777_000 - 5_000) == .seconds(5))
    #expect(parse(date, now: 784_111_777_000 + 5_000) == .zero)
    #expect(parse("Thu, 29 Feb 2024 00:00:00 GMT", now: 1_709_164_799_000) == .seconds(1))
    #expect(parse("Fri, 01 Mar 2024 00:00:00 GMT", now: 1_709_251_199_000) == .seconds(1))
  }

  @Test func keepsNobodyWaitingForEver() {
    #expect(parse("999999999") == RetryAfter.longest)
    #expect(parse("9999999999") == RetryAfter.longest)
    #expect(parse(String(repeating: "9", count: 100)) == RetryAfter.longest)
    #expect(parse("Fri, 31 Dec 9999 23:59:59 GMT") == RetryAfter.longest)
  }

  @Test(arguments: [
    "", "-1", "1.5", "soon", "99999999999 s", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
  ])
  func readsNothingElse(text: String) {
    #expect(parse(text) == nil)
  }
}
