import FanOuts
import Terminal
import Testing

@testable import Record

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

  /// What stops a fan-out is its state while it runs, and no longer.
  @Test(
    arguments: [
      (["state": "running"], "running"), (["state": "running", "brake": "paused"], "paused"),
      (["state": "running", "brake": "cancelled"], "cancelled"),
      (["state": "done", "brake": "cancelled"], "done"), (["state": "what"], "unknown"),
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
