import Record
import Terminal
import Testing
import Watching

@Suite struct TapLineTests {
  private let paint = Paint(coloured: false, unicode: true)

  private func sample(_ change: (inout TapSample) -> Void = { _ in }) -> TapSample {
    var sample = TapSample(
      at: noon + 123, event: "live-8f2c", streamer: "s42", platform: "apns",
      environment: "production", app: "com.example.live", outcome: "rejected",
      reason: "Unregistered", attempts: 2, milliseconds: 12.34, token: "00112233aabbccdd",
      worker: "worker-1")
    change(&sample)
    return sample
  }

  @Test func aLineHasWhatFits() {
    #expect(
      TapLine.text(sample(), width: 40, paint: paint) == "12:00:00.123  rejected    Unregistered")
    #expect(
      TapLine.text(sample(), width: 80, paint: paint)
        == "12:00:00.123  rejected    Unregistered            12.3      2  00112233aabbccdd")
    let whole = TapLine.text(sample(), width: nil, paint: paint)
    for part in ["apns production", "live-8f2c", "s42", "com.example.live", "worker-1"] {
      #expect(whole.contains(part))
    }
  }

  @Test func titlesStandAboveTheirColumns() {
    for width in [40, 60, 80, 100, 140, 200] {
      let title = Array(TapLine.title(width: width))
      let line = Array(TapLine.text(sample(), width: width, paint: paint))
      #expect(DisplayWidth.cells(String(line)) <= width)
      #expect(String(title[14..<21]) == "OUTCOME")
      #expect(String(line[14..<22]) == "rejected")
    }
  }

  @Test func unknownValuesAreDashesOrNull() {
    let bare = sample {
      ($0.reason, $0.platform, $0.environment, $0.token) = ("", "", "", "")
      $0.milliseconds = nil
    }
    let json = TapLine.json(bare).serialized()
    for name in ["reason", "platform", "environment", "token", "answer_ms"] {
      #expect(json.contains("\"\(name)\":null"), "\(name)")
    }
    #expect(TapLine.text(bare, width: 40, paint: paint).hasSuffix("rejected    -"))
  }

  @Test func idsAreHarmless() {
    let text = TapLine.text(sample { $0.reason = "a\u{1B}[2J" }, width: nil, paint: paint)
    #expect(!text.contains("\u{1B}"))
  }
}
