import Fixtures
import Telemetry
import Testing

@testable import Pipeline
@testable import Record

@Suite struct FanOutEndingsTests {
  private let sink = MemorySink()

  private func endings() -> FanOutEndings {
    FanOutEndings(log: Log(LogOptions(format: .json), sink: sink))
  }

  private func figures(_ times: KeyValuePairs<FanOutCounter, Int>) -> [FanOutFigure] {
    [("pushes", 6), ("accepted", 5)].map { FanOutFigure(name: $0, count: $1) }
      + times.map { FanOutFigure(name: $0.rawValue, count: $1) }
  }

  @Test func theLogAndTheMetricsSayHowLongItTook() {
    let endings = endings()
    endings.note(
      "e1", figures([.started: 1_000, .firstPush: 1_004, .done: 3_500]),
      rest: .nothing)
    let line = sink.lines.joined()
    #expect(line.contains("\"accepted\":5,\"first_push_after_ms\":4,\"took_ms\":2500"))
    #expect(!line.contains("started_ms") && !line.contains("done_ms"))
    #expect(endings.durations.count == 1 && endings.durations.seconds == 2.5)
    #expect(endings.firstPushes.count == 1 && endings.firstPushes.seconds == 0.004)
  }

  /// Two workers noted them, and their clocks differ.
  @Test func noTimeIsNegative() {
    let endings = endings()
    endings.note(
      "e1", figures([.started: 1_000, .firstPush: 990, .done: 995]), rest: .nothing)
    #expect(endings.durations.seconds == 0 && endings.firstPushes.seconds == 0)
    #expect(sink.lines.joined().contains("\"took_ms\":0"))
  }

  /// Somebody wrote the hash by hand.
  @Test(arguments: [Int.min, -1, 0, 1, 999, .max])
  func whatIsNoTimeIsNone(_ started: Int) {
    let endings = endings()
    let now = 1_764_000_000_000
    endings.note(
      "e1", figures([.started: started, .firstPush: now, .done: now]), rest: .nothing)
    endings.note(
      "e2", figures([.started: now, .firstPush: started, .done: .max]), rest: .nothing)
    #expect(endings.durations.seconds == 0 && endings.firstPushes.seconds == 0)
    #expect(sink.lines.count == 2 && !sink.lines[0].contains("took_ms"))
  }

  /// All of it was suppressed.
  @Test func whatSentNothingHasNoFirstPush() {
    let endings = endings()
    endings.note("e1", figures([.started: 1_000, .done: 1_001]), rest: .nothing)
    #expect(endings.durations.count == 1 && endings.firstPushes.count == 0)
  }

  @Test func whatIsNotWholeOrForgottenOrToldToNobodyIsNotMeasured() {
    let endings = endings()
    endings.note(
      "e1", figures([.started: 1, .firstPush: 2, .done: 3]), rest: .isInDeadLetters)
    endings.note(
      "e2", [("pushes", 0), ("started_ms", 1), ("done_ms", 1)].map(FanOutFigure.init),
      rest: .nothing)
    endings.note(
      "e3", figures([.started: 1, .firstPush: 2, .done: 3, .forgotten: 2]),
      rest: .nothing)
    #expect(endings.durations.count == 0 && endings.firstPushes.count == 0)
    #expect(sink.lines.count == 3)
  }
}
