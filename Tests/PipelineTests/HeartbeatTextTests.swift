import Testing

@testable import Pipeline

@Suite struct HeartbeatTextTests {
  /// The dashboard would take the rest of the first text for an obstacle of its own.
  @Test func readersSplitTheFieldBetweenTextsAlone() {
    let late = "production: unreachable (a:443 gave no connection in 3 s; refused)"
    let field = Heartbeat.joined([late, "sandbox: slow (late)"])
    #expect(
      field == "production: unreachable (a:443 gave no connection in 3 s, refused); "
        + "sandbox: slow (late)")
    #expect(Heartbeat.joined([]) == "")
  }
}
