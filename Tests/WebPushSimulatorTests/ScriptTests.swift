import JSON
import SimulatorSupport
import Testing
import WebPushSimulator

/// The script as a document.
@Suite struct ScriptTests {
  private func parse(_ text: String) throws(SimulatorError) -> WebPushSimulatorScript {
    try WebPushSimulatorScript.parse(Array(text.utf8))
  }

  @Test func everyMemberIsRead() throws {
    let script = try parse(
      """
      {"rules": [{"endpoints": ["https://a/b"], "answers": [{"fault": "unavailable", "times": 2}]},
        {"prefix": "https://b", "answers": [{"fault": "too_many", "retry_after": 9},
          {"fault": "silence", "retry_after": 9}]}],
       "mix": {"gone": 0.5, "silence": 0.25}, "latency_ms": 1.5, "jitter_ms": 2, "slow_ms": 3,
       "streams": 9, "goaway_after": 5, "goaway_behind": 1, "drop_after": 6, "silent_after": 7}
      """)
    let step = WebPushSimulatorScript.Step(WebPushAnswer(.unavailable), times: 2)
    #expect(script.rules[0] == .init(tokens: ["https://a/b"], steps: [step]))
    var refusal = WebPushRefusal(.tooMany)
    refusal.retryAfter = 9
    #expect(script.rules[1].prefix == "https://b")
    #expect(script.rules[1].steps == [.init(.refuse(refusal)), .init(.silence)])
    #expect(script.mix == [.init(.gone, probability: 0.5), .init(.silence, probability: 0.25)])
    #expect(script.latency == .microseconds(1500) && script.jitter == .milliseconds(2))
    #expect(script.slowness == .milliseconds(3) && script.streams == 9)
    #expect(script.connections.goAwayAfter == 5 && script.connections.goAwayBehind == 1)
    #expect(script.connections.dropAfter == 6 && script.connections.silentAfter == 7)
  }

  @Test(arguments: [
    ("", "JSON"), ("3", "object"), (#"{"x": 1}"#, "x"), (#"{"rules": 1}"#, "rules"),
    (#"{"rules": [{"answers": [{"fault": "reset"}]}]}"#, "rules[0]"),
    (#"{"rules": [{"prefix": "a"}]}"#, "rules[0]"), (#"{"rules": [{"prefix": ""}]}"#, "prefix"),
    (#"{"rules": [{"tokens": ["a"], "answers": [{"fault": "reset"}]}]}"#, "rules[0].tokens"),
    (#"{"rules": [{"prefix": "a", "answers": [{"fault": "x"}]}]}"#, "rules[0].answers[0].fault"),
    (#"{"rules": [{"prefix": "a", "answers": [{"status": 201}]}]}"#, "rules[0].answers[0].status"),
    (#"{"mix": {"gone": 2}}"#, "mix.gone"), (#"{"mix": {"x": 0.1}}"#, "mix.x"),
    (#"{"mix": {"gone": 0.6, "silence": 0.6}}"#, "more than 1"),
    (#"{"latency_ms": -1}"#, "latency_ms"), (#"{"slow_ms": "1"}"#, "slow_ms"),
    (#"{"streams": -1}"#, "streams"), (#"{"drop_after": 0}"#, "drop_after"),
  ])
  func errorsNameThePlace(text: String, place: String) {
    let error = #expect(throws: SimulatorError.self) { try parse(text) }
    #expect(error?.description.contains(place) == true, "\(error?.description ?? "")")
  }

  @Test func theSummaryIsJSON() throws {
    var summary = WebPushSimulatorSummary()
    summary.byStatus = [410: 2, 201: 1]
    summary.byReason = ["gone": 2]
    summary.byService = ["mozilla": 1, "apple": 3]
    let json = try #require(summary.json.object)
    #expect(json["by_status"] == ["201": 1, "410": 2] && json["by_reason"] == ["gone": 2])
    #expect(json["by_service"] == ["apple": 3, "mozilla": 1])
  }
}
