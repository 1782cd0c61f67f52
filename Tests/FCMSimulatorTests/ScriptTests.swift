import FCMSimulator
import SimulatorSupport
import Testing

@Suite struct ScriptTests {
  private func parse(_ text: String) throws -> FCMSimulatorScript {
    try FCMSimulatorScript.parse(Array(text.utf8))
  }

  @Test func everyMemberIsRead() throws {
    let script = try parse(
      """
      {"rules": [{"tokens": ["a"], "answers": [{"fault": "unavailable", "times": 2}]},
        {"prefix": "b", "answers": [{"fault": "unavailable_date", "retry_after": 9},
          {"status": 418, "body": "x", "retry_after": 7}]}],
       "mix": {"unregistered": 0.5, "silence": 0.25}, "latency_ms": 1.5, "jitter_ms": 2,
       "streams": 9, "quota_per_minute": 10, "access_token_seconds": 11,
       "expired_access_tokens": [1, 3], "token_answers": [{"fault": "invalid_grant", "times": 4}],
       "goaway_after": 5, "goaway_behind": 1, "drop_after": 6, "silent_after": 7}
      """)
    #expect(
      script.rules[0] == .init(tokens: ["a"], steps: [.init(FCMAnswer(.unavailable), times: 2)]))
    let steps = script.rules[1].steps
    guard case .refuse(let dated) = steps[0].answer, case .refuse(let raw) = steps[1].answer else {
      Issue.record("no refusals")
      return
    }
    #expect(dated.retryAfter == .date(9) && dated.status == 503)
    #expect(raw.status == 418 && raw.body == "x" && raw.retryAfter == .seconds(7))
    #expect(
      script.mix == [.init(.unregistered, probability: 0.5), .init(.silence, probability: 0.25)])
    #expect(script.latency == .microseconds(1500) && script.jitter == .milliseconds(2))
    #expect(script.streams == 9 && script.quotaPerMinute == 10)
    #expect(script.accessTokenSeconds == 11 && script.expiredAccessTokens == [1, 3])
    #expect(script.tokenAnswers == [.init(.invalidGrant, times: 4)])
    #expect(script.goAwayAfter == 5 && script.goAwayBehind == 1)
    #expect(script.dropAfter == 6 && script.silentAfter == 7)
  }

  @Test(arguments: [
    ("", "JSON"), ("3", "object"), (#"{"x": 1}"#, "x"), (#"{"rules": 1}"#, "rules"),
    (#"{"rules": [{"answers": [{"fault": "reset"}]}]}"#, "rules[0]"),
    (#"{"rules": [{"prefix": "a"}]}"#, "rules[0]"), (#"{"rules": [{"prefix": ""}]}"#, "prefix"),
    (#"{"rules": [{"prefix": "a", "answers": [{"fault": "x"}]}]}"#, "rules[0].answers[0].fault"),
    (#"{"rules": [{"prefix": "a", "answers": [{"status": 200}]}]}"#, "rules[0].answers[0].status"),
    (#"{"rules": [{"prefix": "a", "answers": [{"state": 1}]}]}"#, "rules[0].answers[0].state"),
    (#"{"mix": {"reset": 2}}"#, "mix.reset"), (#"{"mix": {"x": 0.1}}"#, "mix.x"),
    (#"{"mix": {"reset": 0.6, "silence": 0.6}}"#, "more than 1"),
    (#"{"latency_ms": -1}"#, "latency_ms"), (#"{"streams": -1}"#, "streams"),
    (#"{"quota_per_minute": 0}"#, "quota_per_minute"),
    (#"{"expired_access_tokens": [0]}"#, "expired_access_tokens"),
    (#"{"token_answers": [{"fault": "x"}]}"#, "token_answers[0].fault"),
  ])
  func errorsNameThePlace(text: String, place: String) {
    let error = #expect(throws: SimulatorError.self) { try parse(text) }
    #expect(error?.description.contains(place) == true, "\(error?.description ?? "")")
  }

  @Test func theSummaryIsJSON() throws {
    var summary = FCMSimulatorSummary()
    summary.byStatus = [404: 2, 200: 1]
    summary.byErrorCode = ["UNREGISTERED": 2]
    let json = try #require(summary.json.object)
    #expect(json["by_status"] == ["200": 1, "404": 2])
    #expect(json["by_error_code"] == ["UNREGISTERED": 2])
  }
}
