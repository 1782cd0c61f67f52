import Model
import Testing

@Suite struct TraceContextTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let usual = "00-\(trace)-00f067aa0ba902b7-01"

  private func read(_ text: String) -> TraceContext? { TraceContext(traceparent: text.utf8) }

  @Test func aTraceparentComesBackAsItWas() throws {
    for text in [Self.usual, "00-\(Self.trace)-00f067aa0ba902b7-00"] {
      let context = try #require(read(text))
      #expect(context.traceparent == text)
      #expect(context.traceID.description == Self.trace)
      #expect(context.parentID == 0x00f0_67aa_0ba9_02b7)
      #expect(context.isSampled == text.hasSuffix("1"))
    }
  }

  /// Section 3.2.2 and "Versioning of traceparent".
  @Test func laterVersionsAreReadAsFarAsTheyAreKnown() throws {
    for text in [
      "cc-\(Self.usual.dropFirst(3))-what-the-future-adds", "01-\(Self.usual.dropFirst(3))",
    ] {
      #expect(try #require(read(text)).traceparent == Self.usual)
    }
    // Flags that nobody knows are not passed on.
    #expect(read("00-\(Self.trace)-00f067aa0ba902b7-ff")?.traceparent == Self.usual)
  }

  private static let invalid: [String] = {
    let rest = String(usual.dropFirst(3))
    let zeros = String(repeating: "0", count: 32)
    return [
      "", "00", usual + "x", usual + "-x", "ff-\(rest)", "01-\(rest)x", "00_\(rest)", "0x-\(rest)",
      usual.uppercased(), String(usual.dropLast()), "00-\(zeros)-00f067aa0ba902b7-01",
      "00-\(trace)-\(zeros.prefix(16))-01", "00-\(trace)-00f067aa0ba902b7-0g",
      "01-\(rest)-" + String(repeating: "x", count: 1_000),
    ]
  }()

  @Test(arguments: invalid)
  func whatIsInvalidIsNone(_ text: String) { #expect(read(text) == nil) }

  @Test func aTraceThatBeginsHereIsTheSameForAllWorkersAndHasNoParent() {
    let one = TraceContext(ofEvent: "e1", share: 1)
    #expect(one == TraceContext(ofEvent: "e1", share: 1) && one.isSampled)
    #expect(one.parentID == nil && one.traceparent == nil)
    #expect(one.traceID != TraceContext(ofEvent: "e2", share: 1).traceID)
    #expect(!TraceContext(ofEvent: "e1", share: 0).isSampled)
  }

  @Test func aShareOfTheTracesIsSampled() {
    let sampled = (0..<10_000).count { TraceContext(ofEvent: "e\($0)", share: 0.1).isSampled }
    #expect((900...1_100).contains(sampled))
    // Whoever samples more has all of them.
    for number in 0..<1_000 where TraceContext(ofEvent: "e\(number)", share: 0.1).isSampled {
      #expect(TraceContext(ofEvent: "e\(number)", share: 0.2).isSampled)
    }
  }
}
