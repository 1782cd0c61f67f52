import Fixtures
import Foundation
import Testing
import Threads

@testable import Telemetry

/// A log into memory whose clock stands still unless moved.
final class LogFixture: Sendable {
  let sink = MemorySink()
  private let now = ThreadLock<UInt64>(0)

  func log(
    _ format: LogFormat = .json, level: LogLevel = .debug, repeatLimit: Int = 0,
    sink: (any LogSink)? = nil
  ) -> Log {
    var options = LogOptions(
      level: level, format: format, tokenLabelKey: TokenLabelKey(words: (1, 2)))
    options.repeatLimit = repeatLimit
    return Log(
      options, sink: sink ?? self.sink,
      clock: LogClock(
        wallMilliseconds: { 1_795_248_000_123 },
        monotonicNanoseconds: { self.now.withLock { $0 } }))
  }

  func wait(_ duration: Duration) { now.withLock { $0 += UInt64(duration / .nanoseconds(1)) } }

  func object(_ line: Int = 0) throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data(sink.lines[line].utf8))
    return try #require(object as? [String: Any])
  }
}

@Suite struct LogTests {
  private let fixture = LogFixture()

  @Test func aLineIsOneObjectInOrder() {
    fixture.log().info(
      "segment settled",
      [
        "event_id": "live-1", "lane": 4, "pushes": 12, "rate": 0.5, "late": false,
        "name": .text("日本 \"x\" \\"),
      ])
    #expect(
      fixture.sink.lines == [
        #"{"ts":"2026-11-21T08:00:00.123Z","level":"info","msg":"segment settled","#
          + #""event_id":"live-1","lane":4,"pushes":12,"rate":0.5,"late":false,"#
          + #""name":"日本 \"x\" \\"}"#
      ])
  }

  @Test func textIsForPeople() {
    fixture.log(.text(coloured: false)).warning(
      "Redis is away", ["host": "r1", "why": "two words", "empty": "", "n": 3])
    fixture.log(.text(coloured: true)).error("no", ["a": true])
    fixture.log(.text(coloured: false)).info("plain")
    #expect(
      fixture.sink.lines == [
        #"08:00:00.123Z warning Redis is away  host=r1 why="two words" empty="" n=3"#,
        "08:00:00.123Z \u{1B}[31merror  \u{1B}[0m no  \u{1B}[2ma=\u{1B}[0mtrue",
        "08:00:00.123Z info    plain",
      ])
  }

  @Test func whatIsOffIsNotEvaluated() {
    let log = fixture.log(level: .notice)
    func never(_ what: String) -> String {
      Issue.record("evaluated: \(what)")
      return what
    }
    log.info(never("message"), ["x": .text(never("field"))])
    log.debug(never("message"))
    #expect(!log.isEnabled(.info) && log.isEnabled(.notice) && log.isEnabled(.error))
    log.notice("seen")
    #expect(fixture.sink.lines.count == 1)
    #expect(log.statistics.written == [.error: 0, .warning: 0, .notice: 1, .info: 0, .debug: 0])
  }

  @Test func theFormatFollowsTheTerminal() {
    func format(_ environment: [String: String], isTerminal: Bool = true) -> LogFormat {
      .automatic(isTerminal: isTerminal) { environment[$0] }
    }
    #expect(format(["TERM": "xterm"]) == .text(coloured: true))
    #expect(format(["TERM": "xterm", "NO_COLOR": "1"]) == .text(coloured: false))
    #expect(format(["TERM": "xterm", "NO_COLOR": ""]) == .text(coloured: true))
    #expect(format(["TERM": "dumb"]) == .text(coloured: false))
    #expect(format(["TERM": "xterm"], isTerminal: false) == .json)
    #expect(LogFormat.named("json") == .json)
    #expect(LogFormat.named("loud") == nil)
    #expect(LogLevel(name: "notice") == .notice)
    #expect(LogLevel(name: "trace") == nil)
  }

  @Test func hostileTextStaysOneValidLine() throws {
    let hostile =
      "a\r\nb\u{0}\u{1B}[2J\u{7F}\u{85}\u{2028}\u{202E}\u{2066}\u{200F}\"\\</script>"
      + "👩‍👩‍👧‍👦\u{10FFFF}"
    let log = fixture.log()
    log.info(hostile, [hostile: .text(hostile), "msg": "m", "ts": "t", "level": "l"])
    fixture.log(.text(coloured: false)).info(hostile, [hostile: .text(hostile)])
    for line in fixture.sink.lines {
      #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
      #expect(!line.contains("\u{202E}") && !line.contains("\u{2028}") && !line.contains("\u{85}"))
    }
    let object = try fixture.object()
    #expect(
      (object["msg"] as? String)?.unicodeScalars.elementsEqual(hostile.unicodeScalars) == true)
    #expect(object["msg_"] as? String == "m" && object["ts_"] as? String == "t")
    #expect(object.count == 7)
  }

  @Test func everyScalarAndBrokenBytesStayValid() throws {
    let log = fixture.log()
    for start in stride(from: UInt32(0), to: 0x3000, by: 64) {
      var text = String.UnicodeScalarView()
      text.append(contentsOf: (start..<start + 64).compactMap(Unicode.Scalar.init))
      fixture.sink.removeAll()
      log.info("x", ["v": .text(String(text))])
      #expect((try fixture.object()["v"] as? String)?.unicodeScalars.elementsEqual(text) == true)
    }
  }

  @Test func longLinesAreCutAndSayIt() throws {
    let log = fixture.log()
    log.info("x", ["v": .text(String(repeating: "日本 ", count: 100_000))])
    let value = try #require(fixture.object()["v"] as? String)
    #expect(value.hasSuffix("…") && value.utf8.count <= 1024 && value.utf8.count > 1000)
    for text in ["\u{1}", "word ", "\"", "👩‍👩‍👧‍👦 "] {
      for format in [LogFormat.json, .text(coloured: true)] {
        fixture.sink.removeAll()
        var fields = LogFields()
        for index in 0..<50 {
          fields["field\(index)"] = .text(String(repeating: text, count: 3_000))
        }
        fixture.log(format).error(String(repeating: text, count: 3_000), fields)
        let line = fixture.sink.lines[0]
        #expect(line.utf8.count < 4096)
        if format == .json {
          #expect(try fixture.object()["truncated"] as? Bool == true)
        } else {
          #expect(line.hasSuffix(" truncated=true"))
        }
      }
    }
  }

  @Test func numbersAreValid() throws {
    fixture.log().info(
      "x",
      [
        "nan": .double(.nan), "inf": .double(-.infinity), "small": .double(1e-300),
        "large": .double(.greatestFiniteMagnitude), "min": .integer(.min),
      ])
    let object = try fixture.object()
    #expect(object["nan"] is NSNull && object["inf"] is NSNull)
    #expect(object["small"] as? Double == 1e-300)
    #expect(object["large"] as? Double == .greatestFiniteMagnitude)
    #expect(object["min"] as? Int == .min)
  }
}

@Suite struct RepeatTests {
  private let fixture = LogFixture()

  @Test func repeatsAreCountedAndSummedUp() throws {
    let log = fixture.log(repeatLimit: 3)
    for attempt in 0..<1_237 { log.warning("no answer", ["attempt": .integer(attempt)]) }
    log.error("no answer")
    #expect(fixture.sink.lines.count == 4)
    #expect(log.statistics.suppressed == 1_234)
    fixture.wait(.milliseconds(9_999))
    log.info("other")
    #expect(fixture.sink.lines.count == 5)
    fixture.wait(.milliseconds(1))
    log.info("other")
    let summary = try fixture.object(5)
    #expect(
      summary["msg"] as? String == "no answer (repeated 1,234 times more within 10 s)")
    #expect(summary["level"] as? String == "warning")
    #expect(summary["repeated"] as? Int == 1_234)
    // A new window writes again.
    log.warning("no answer")
    #expect(fixture.sink.lines.count == 8)
  }

  @Test func flushTellsWhatIsStillCounted() throws {
    let log = fixture.log(repeatLimit: 1)
    log.info("a")
    log.info("a")
    log.flush()
    log.flush()
    #expect(fixture.sink.lines.count == 2)
    #expect(try fixture.object(1)["msg"] as? String == "a (repeated once more within 10 s)")
  }

  @Test func manyDifferentMessagesCostBoundedMemory() {
    var limiter = RepeatLimiter(limit: 1, windowNanoseconds: 10)
    for index in 0..<100_000 {
      let (writes, ended) = limiter.admit(.init(level: .info, message: "\(index)"), at: 0)
      #expect(writes && ended.isEmpty)
    }
    // The table is full of the first; a late one is not limited, an early one is.
    let late = RepeatLimiter.Key(level: .info, message: "99999")
    let early = RepeatLimiter.Key(level: .info, message: "5")
    #expect(limiter.admit(late, at: 9).writes)
    #expect(!limiter.admit(early, at: 9).writes)
    #expect(limiter.admit(late, at: 10).ended == [.init(level: .info, message: "5", count: 1)])
    #expect(!limiter.admit(late, at: 10).writes)
  }

  /// Who looks for one event's lines finds them, whatever else goes on.
  @Test func linesOfDifferentEventsAreNoRepetitions() throws {
    let log = fixture.log(repeatLimit: 2)
    for number in 0..<2_000 {
      log.info("fan-out started", ["event": .text("e\(number)"), "segments": 1])
      log.notice("fan-out done", ["event": .text("e\(number)")])
    }
    for _ in 0..<5 { log.info("fan-out started", ["event": "again"]) }
    #expect(fixture.sink.lines.count == 4_005 && log.statistics.suppressed == 0)
    fixture.sink.removeAll()
    for _ in 0..<5 {
      for event in ["a", "b"] { log.warning("user passed over", ["event": .text(event)]) }
    }
    #expect(fixture.sink.lines.count == 4 && log.statistics.suppressed == 6)
    log.flush()
    let summaries = try (4..<6).map { try fixture.object($0) }
    #expect(summaries.map { $0["event"] as? String } == ["a", "b"])
    #expect(summaries.map { $0["repeated"] as? Int } == [3, 3])
    // A line about nothing in particular is limited as before.
    for _ in 0..<5 { log.info("waiting for partitions") }
    #expect(fixture.sink.lines.count == 8)
  }

  /// However many events a fault hits, neither memory nor the log grows with them.
  @Test func faultsOfManyEventsAreToldOnceTheTableIsFull() {
    var limiter = RepeatLimiter(limit: 2, windowNanoseconds: 10)
    let most = RepeatLimiter.maximumEventKeys
    func key(_ event: Int) -> RepeatLimiter.Key {
      .init(level: .warning, message: "broken", event: "e\(event)")
    }
    func written(at now: UInt64) -> Int {
      (0..<10_000).count { limiter.admit(key($0), at: now).writes }
    }
    #expect(written(at: 0) == most + 2)
    // One that has its place keeps it.
    #expect(limiter.admit(key(0), at: 9).writes && !limiter.admit(key(0), at: 9).writes)
    // An id of any length takes no memory.
    let long = RepeatLimiter.Key(
      level: .error, message: "odd", event: String(repeating: "x", count: 257))
    #expect(limiter.admit(long, at: 9).writes)
    let ended = limiter.admit(key(0), at: 10).ended
    #expect(
      ended == [
        .init(level: .warning, message: "broken", event: nil, count: 10_000 - most - 2),
        .init(level: .warning, message: "broken", event: "e0", count: 1),
      ])
    // A new window has room again.
    _ = limiter.flush()
    #expect(written(at: 11) == most + 2)
  }

  @Test func logsFromManyThreadsLoseNothing() async {
    let log = fixture.log(repeatLimit: 0)
    await withTaskGroup { group in
      for task in 0..<8 {
        group.addTask { for line in 0..<200 { log.info("x", ["n": .integer(task * 200 + line)]) } }
      }
    }
    #expect(Set(fixture.sink.lines).count == 1_600)
  }
}
