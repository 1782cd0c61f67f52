import Testing

@testable import Terminal

@Suite struct ProgressLineTests {
  private static let second: UInt64 = 1_000_000_000

  @Test func aTerminalIsRedrawnInPlaceAtBoundedRate() {
    let buffer = Buffer()
    var progress = ProgressLine(
      "pushes", total: 1_000, on: buffer.console(width: 80, isTerminal: true), at: 0)
    for step in 0...1_000 { progress.update(done: step, at: UInt64(step) * 1_000_000) }
    // A second in steps of a millisecond: a drawing each tenth of a second.
    #expect(buffer.text.split(separator: "\r").count == 11)
    #expect(!buffer.text.contains("\n"))
    progress.finish(at: Self.second)
    #expect(buffer.text.hasSuffix("100%  1,000/1,000  1,000/s  0:01\u{1B}[K\n"))
    let drawn = buffer.text.split(separator: "\r").map { $0.prefix { $0 != "\u{1B}" } }
    #expect(drawn.allSatisfy { DisplayWidth.cells($0) <= 79 })
    #expect(
      drawn[4].hasPrefix(
        "pushes  [████████████░░░░░░░░░░░░░░░░░░]  40%  400/1,000  1,000/s  ETA 0:01"))
  }

  @Test func elsewherePlainLinesNowAndThen() {
    let buffer = Buffer()
    var progress = ProgressLine("pushes", total: 100_000, on: buffer.console(width: 20), at: 0)
    for tenth in 0...120 {
      progress.update(done: tenth * 100, note: "8 streams", at: UInt64(tenth) * Self.second / 10)
      // Other words come in between: nothing is there that must make room.
      progress.clear()
    }
    progress.finish(at: 12 * Self.second)
    #expect(
      buffer.lines == [
        "pushes  0%  0/100,000  0:00  8 streams",
        "pushes  5%  5,000/100,000  1,000/s  ETA 1:35  8 streams",
        "pushes  10%  10,000/100,000  1,000/s  ETA 1:30  8 streams",
        "pushes  12%  12,000/100,000  1,000/s  0:12", "",
      ])
    #expect(!buffer.text.contains("\u{1B}") && !buffer.text.contains("\r"))
  }

  @Test(arguments: 1...120)
  func everyWidthHoldsTheLine(width: Int) {
    let buffer = Buffer()
    var progress = ProgressLine(
      "日本語", total: 5_000_000, on: buffer.console(width: width, isTerminal: true), at: 0)
    progress.update(done: 1, at: 0)
    progress.update(done: 2_345_678, note: "evil\u{1B}[2J", at: 3 * Self.second)
    for line in buffer.text.split(separator: "\r") {
      let shown = line.hasSuffix("\u{1B}[K") ? line.dropLast(3) : line
      #expect(DisplayWidth.cells(shown) <= max(1, width - 1))
      #expect(!shown.contains("\u{1B}"))
    }
  }

  @Test func withoutATotalThereIsNoBar() {
    let buffer = Buffer()
    var progress = ProgressLine("read", total: nil, on: buffer.console(isTerminal: true), at: 0)
    progress.update(done: 10, at: 2 * Self.second)
    #expect(buffer.text == "\rread  10  5/s  0:02\u{1B}[K")
    progress.clear()
    #expect(buffer.text.hasSuffix("\u{1B}[K\r\u{1B}[K"))
  }

  @Test func strangeCountsDoNotTrap() {
    let buffer = Buffer()
    var progress = ProgressLine(
      "x", total: 0, on: buffer.console(width: 60, isTerminal: true, unicode: false),
      at: 5 * Self.second)
    progress.update(done: 5, at: 0)
    progress.update(done: .max, total: 10, at: 6 * Self.second)
    progress.update(done: -3, at: 7 * Self.second)
    progress.update(done: 5, total: .max, at: 8 * Self.second)
    #expect(buffer.text.contains("[#"))
    progress.finish(at: 9 * Self.second)
    progress.finish(at: 9 * Self.second)
    progress.update(done: 1, at: 20 * Self.second)
    #expect(buffer.text.filter { $0 == "\n" }.count == 1)
  }

  @Test func theRateIsOfTheLastSeconds() {
    var meter = RateMeter(at: 0)
    for second in 1...60 { meter.record(second * 100, at: UInt64(second) * Self.second) }
    for second in 61...90 { meter.record(6_000, at: UInt64(second) * Self.second) }
    #expect(meter.perSecond == 0)
  }
}
