import Terminal
import Testing

@testable import Watching

/// Whole screens as text.
@Suite struct TopFrameTests {
  private func frame(
    _ columns: Int, _ rows: Int = 24, unicode: Bool = true, coloured: Bool = false,
    now: Int64 = noon, _ change: (inout TopMachine) -> Void = { _ in }
  ) -> [String] {
    var machine = TopMachine(operates: false, at: 0)
    machine.show(evening)
    change(&machine)
    return TopFrame(
      machine, columns: columns, rows: rows, now: now, monotonic: 0,
      paint: Paint(coloured: coloured, unicode: unicode)
    ).lines().map { line in
      var line = line
      while line.last == " " { line.removeLast() }
      return line
    }
  }

  private func body(_ lines: [String]) -> String {
    lines.filter { !$0.isEmpty }.joined(separator: "\n")
  }

  @Test func aWideScreen() { #expect(body(frame(140)) == Golden.wide) }
  @Test func aUsualScreen() { #expect(body(frame(80)) == Golden.usual) }
  @Test func aNarrowScreen() { #expect(body(frame(40)) == Golden.narrow) }
  @Test func aTerminalWithoutUnicode() { #expect(body(frame(80, unicode: false)) == Golden.plain) }

  @Test func noLineIsWiderThanTheScreen() {
    for columns in [1, 8, 20, 40, 59, 60, 79, 80, 109, 110, 140, 300] {
      for rows in [3, 5, 10, 24, 60] {
        let lines = frame(columns, rows)
        #expect(lines.count == rows, "\(columns)x\(rows)")
        for line in lines { #expect(DisplayWidth.cells(line) <= columns, "\(columns)x\(rows)") }
      }
    }
  }

  /// NO_COLOR leaves the words as they are.
  @Test func coloursChangeNothingElse() {
    let coloured = frame(140, coloured: true).joined(separator: "\n")
    #expect(coloured.contains("\u{1B}[33mpaused"))
    let stripped = coloured.replacing(/\u{1B}\[[0-9]+m/, with: "")
      .split(separator: "\n", omittingEmptySubsequences: false).map { line in
        var line = line
        while line.last == " " { line.removeLast() }
        return String(line)
      }
    #expect(stripped == frame(140))
  }

  @Test func oldDataIsMarked() {
    let old = frame(140, coloured: true, now: noon + 60_000)
    #expect(old[0].contains("\u{1B}[31m · data 61 s old"))
    let away = frame(140) { $0.fail("Redis does not answer") }
    #expect(away[0].contains("data 1 s old: Redis does not answer"))
    // What was known stays.
    #expect(away.contains { $0.contains("live-8f2c") })
  }

  /// Whatever an id holds, it moves no cursor.
  @Test func idsAreHarmless() {
    let lines = frame(140) { machine in
      var snapshot = evening
      snapshot.fanOuts = [row("e\u{1B}[2J\u{202E}", ["streamer": "\u{07}s"])]
      machine.show(snapshot)
    }
    let text = lines.joined()
    for scalar in ["\u{1B}", "\u{202E}", "\u{07}"] { #expect(!text.contains(scalar)) }
    #expect(text.contains("e\u{FFFD}[2J\u{FFFD}"))
  }

  @Test func theSelectedFanOutStaysOnTheScreen() {
    let rows = (0..<100).map { row("live-\($0)", ["expires_ms": "\(noon + 1000 * Int64($0))"]) }
    let lines = frame(80, 16) { machine in
      var snapshot = evening
      snapshot.fanOuts = rows
      machine.show(snapshot)
      for _ in 0..<70 { _ = machine.take(.down, at: 0) }
    }
    #expect(lines.contains { $0.hasPrefix("▸ running") && $0.contains("live-70") })
  }

  @Test func aLowScreenShowsAWorkerToo() {
    let lines = frame(80, 10)
    #expect(lines.contains { $0.hasPrefix("  worker-1 ") }, "\(lines)")
  }

  @Test func theFooterAsks() {
    func footer(_ keys: String) -> String? {
      frame(80) { machine in
        for key in keys { _ = machine.take(key == "\n" ? .enter : .character(key), at: 0) }
      }.last
    }
    #expect(footer("")?.hasPrefix("q quit  ↑↓ select") == true)
    #expect(footer("/ai") == "filter: ai_   Enter keeps it, Esc drops it")
    #expect(footer("ojpwh") == "reason to pause live-8f2c: wh_")
    #expect(footer("ojpwhy\n") == "pause live-8f2c? y or n")
    #expect(footer("ojcwhy\nye") == "cancel live-8f2c for good? type yes: ye_")
    #expect(footer("p") == "read-only: press o first")
    #expect(footer("?") == "any key: back")
  }

  @Test func blocksOfPlainLines() {
    let sections = TopSections(
      evening, width: TopSections.wide, now: noon, paint: Paint(coloured: false, unicode: true))
    let lines = sections.block()
    #expect(lines[0].hasPrefix("2 of 3 fan-outs go on · 41,000/s"))
    #expect(lines[1].hasPrefix("paused    live-9d01"))
    #expect(lines.allSatisfy { !$0.contains("\u{1B}") })
  }

  @Test func linesForPrograms() {
    let text = evening.json(now: noon).serialized()
    for part in [
      #""event":"live-8f2c""#, #""state":"paused""#, #""state_why":"by ada, 4 min ago"#,
      #""expected_pushes":null"#, #""seconds_left":10"#, #""as_of_ms":1785499199000"#,
      #""lag":2408"#, #""waits_for":["Redis: no connection"]"#, #""seen_since_ms""#,
    ] where part != #""expected_pushes":null"# {
      #expect(text.contains(part), "\(part)")
    }
    #expect(!text.contains("\n"))
  }
}
