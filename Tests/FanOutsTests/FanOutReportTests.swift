import FanOuts
import Model
import Testing
import Threads

@testable import Record
@testable import Terminal

/// How fan-outs are shown to people and to scripts.
@Suite struct FanOutReportTests {
  private func fanOut(_ fields: [String: String]) -> KnownFanOut {
    KnownFanOut(event: "e1", status: FanOutStatus(fields: fields))
  }

  private func row(_ fields: [String: String], now: Int64 = 200_000) -> [String] {
    let table = FanOutReport.table([fanOut(fields)], now: now)
    let lines = table.text(width: nil).split(separator: "\n")
    return lines[1].split(separator: " ", omittingEmptySubsequences: true).map(String.init)
  }

  private func summary(_ fields: [String: String], now: Int64) -> String {
    let bytes = ThreadLock<[UInt8]>([])
    let plain = Capabilities(isTerminal: false, redraws: false, coloured: false, unicode: true)
    let console = Console(capabilities: plain, width: { nil }) { written in
      bytes.withLock { $0 += written }
      return true
    }
    FanOutReport.summary(of: fanOut(fields), now: now).write(to: console)
    return bytes.withLock { String(decoding: $0, as: UTF8.self) }
  }

  /// What stops a fan-out says more than its state.
  @Test(
    arguments: [
      (["state": "running"], "running"), (["state": "running", "brake": "paused"], "paused"),
      (["state": "running", "brake": "cancelled"], "cancelled"),
      (["state": "done", "brake": "cancelled"], "cancelled"),
      (["state": "incomplete", "brake": "paused"], "paused"),
      (["state": "done"], "done"), (["state": "incomplete"], "incomplete"),
      (["state": "what"], "unknown"), (["state": "scheduled"], "scheduled"),
      (["state": "scheduled", "brake": "paused"], "paused"),
      (["state": "scheduled", "brake": "cancelled"], "cancelled"),
    ])
  func theStateIsOneWord(fields: [String: String], word: String) {
    #expect(row(fields.merging(["streamer": "s1"]) { $1 })[2] == word)
  }

  @Test(
    arguments: [
      (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172_799, "47 h"),
      (172_800, "2 d"),
    ])
  func agesAreShort(seconds: Int, text: String) {
    let now: Int64 = 1_000_000_000_000
    let started = Int(now) - 1000 * seconds
    let fields = ["state": "running", "streamer": "s1", "started_ms": "\(started)"]
    #expect(row(fields, now: now)[3...5].joined(separator: " ") == "\(text) ago")
    #expect(row(["state": "running", "streamer": "s1"])[3] == "-")
  }

  /// Of what is to be sent later, when that is.
  @Test(arguments: [
    (SendTime.at(1_796_148_000_000), Int64(7_200), "in 2 h", "2026-12-01T18:00:00Z"),
    (.at(1_796_148_000_000), 60, "in 60 s", "2026-12-01T18:00:00Z"),
    (.at(1_796_148_000_000), -5, "due", "2026-12-01T18:00:00Z"),
    (.local(1_796_148_000_000), 7_200, "in 2 h", "2026-12-01T18:00"),
  ])
  func scheduledEventsSayWhen(sendAt: SendTime, ahead: Int64, column: String, text: String) {
    let first = sendAt.due.lowerBound
    var fields = ["state": "scheduled", "streamer": "s1", "send_at_ms": "\(first)"]
    if case .local(let local) = sendAt { fields["send_local_ms"] = "\(local)" }
    let now = first - ahead * 1000
    let words = column.split(separator: " ").count
    #expect(row(fields, now: now)[3..<3 + words].joined(separator: " ") == column)
    let lines = summary(fields, now: now)
    #expect(lines.contains(text) && lines.contains(column) && !lines.contains("started"))
    #expect(lines.contains("by each reader's clock") == (fields["send_local_ms"] != nil))
    #expect(FanOutReport.json(fanOut(fields)).serialized().contains(#""send_at":"\#(text)""#))
  }

  @Test func aReleaseInTheDeadLettersIsShown() {
    let fields = [
      "state": "scheduled", "streamer": "s1", "release_dead_letter": "unknown_template",
    ]
    #expect(summary(fields, now: 0).contains("in the dead letters: unknown_template"))
    #expect(
      FanOutReport.json(fanOut(fields)).serialized()
        .contains(#""release_dead_letter":"unknown_template""#))
    #expect(!summary(["state": "scheduled", "streamer": "s1"], now: 0).contains("dead letters"))
  }

  /// An id of digits is none.
  @Test func wordsStayWords() {
    let line = FanOutReport.json(
      fanOut(["state": "running", "streamer": "007", "template": "42", "brake_why": "1"])
    ).serialized()
    for part in [#""streamer":"007""#, #""template":"42""#, #""brake_why":"1""#] {
      #expect(line.contains(part), "\(part)")
    }
  }

  @Test func aSummaryHoldsWhatThereIs() {
    let fields = [
      "state": "incomplete", "streamer": "s1", "pushes": "30", "accepted": "20", "rejected": "10",
      "rejected:Unregistered": "10", "waiting": "5", "obstacle": "production: slow",
      "dead_lettered": "2", "skipped": "3", "unread": "4",
    ]
    let text = summary(fields, now: 0)
    for part in [
      "incomplete", "Unregistered", "waiting", "production: slow", "dead letters", "skipped",
      "unread",
    ] {
      #expect(text.contains(part), "\(part)")
    }
  }

  @Test func aScriptGetsEveryNumber() {
    let line = FanOutReport.json(
      fanOut([
        "state": "running", "brake": "paused", "brake_why": "title", "streamer": "s1",
        "pushes": "12", "rejected:Unregistered": "3",
      ])
    ).serialized()
    for part in [
      #""event":"e1""#, #""state":"running""#, #""brake":"paused""#, #""brake_why":"title""#,
      #""pushes":12"#, #""rejected:Unregistered":3"#,
    ] {
      #expect(line.contains(part), "\(part)")
    }
  }
}
