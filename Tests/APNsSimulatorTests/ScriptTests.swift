import APNsSimulator
import SimulatorSupport
import Testing

@Suite struct ScriptTests {
  private func parse(_ text: String) throws -> SimulatorScript {
    try Array(text.utf8).withUnsafeBytes { try SimulatorScript.parse($0) }
  }

  @Test func aBareListIsTheRules() throws {
    let script = try parse(#"[{"prefix": "AB", "answers": [{"silence": true, "times": 2}]}]"#)
    #expect(script.rules.count == 1)
    #expect(script.rules[0].prefix == "ab")
    #expect(script.rules[0].steps == [.init(.silence, times: 2)])
  }

  @Test func everyMemberIsRead() throws {
    let script = try parse(
      """
      {"rules": [], "mix": {"410": 0.5, "reset": 0.25, "silence": 0.125, "drop": 0},
       "latency_ms": 40, "jitter_ms": 1.5, "streams": 9, "goaway_after": 3, "goaway_behind": 1,
       "goaway_code": 11, "drop_after": 4, "silent_after": 5, "cut_after": 6, "end_after": 7,
       "half_close_after": 8, "attack": "empty_data", "attack_after": 9, "window": 0,
       "slice_bytes": 1, "rate": 10}
      """)
    #expect(script.latency == .milliseconds(40))
    #expect(script.jitter == .microseconds(1500))
    #expect(script.streams == 9 && script.rate == 10)
    #expect(script.goAwayAfter == 3)
    #expect(script.goAwayBehind == 1)
    #expect(script.dropAfter == 4)
    #expect(script.goAwayCode == 11)
    #expect(script.silentAfter == 5)
    #expect(script.cutAfter == 6)
    #expect(script.endAfter == 7)
    #expect(script.halfCloseAfter == 8)
    #expect(script.attack == .emptyData && script.attackAfter == 9)
    #expect(script.window == 0 && script.sliceBytes == 1)
    #expect(script.mix.count == 4)
    #expect(script.mix[1].answer == .reset(7))
  }

  @Test(arguments: [
    ("", "JSON"), ("3", "object or a list"), (#"{"x": 1}"#, "x"), (#"{"rules": 1}"#, "rules"),
    (#"[{"answers": [{"status": 503}]}]"#, "rules[0]"),
    (#"[{"prefix": "xy", "answers": []}]"#, "rules[0].prefix"),
    (#"[{"prefix": "aa"}]"#, "rules[0]"),
    (#"[{"tokens": ["aa"], "prefix": "aa", "answers": [{"status": 503}]}]"#, "rules[0]"),
    (#"[{"prefix": "aa", "answers": [{"status": 99}]}]"#, "rules[0].answers[0].status"),
    (#"[{"prefix": "aa", "answers": [{"status": 418}]}]"#, "rules[0].answers[0].reason"),
    (#"[{"prefix": "aa", "answers": [{"state": 1}]}]"#, "rules[0].answers[0].state"),
    (#"[{"prefix": "aa", "answers": [{"status": 503, "times": 0}]}]"#, "times"),
    (#"{"mix": {"410": 2}}"#, "410"), (#"{"mix": {"410": 0.6, "500": 0.6}}"#, "more than 1"),
    (#"{"mix": {"Nothing": 0.1}}"#, "Nothing"), (#"{"latency_ms": -1}"#, "latency_ms"),
    (#"{"streams": -1}"#, "streams"), (#"{"rate": 0}"#, "rate"),
    (#"{"goaway_after": 0}"#, "goaway_after"),
    (#"{"attack": "none"}"#, "attack must be one of settings, ping"),
    (#"{"window": 2147483648}"#, "window"), (#"{"slice_bytes": 0}"#, "slice_bytes"),
    (#"{"cut_after": 0}"#, "cut_after"), (#"{"end_after": "x"}"#, "end_after"),
  ])
  func errorsNameThePlace(text: String, place: String) {
    let error = #expect(throws: SimulatorError.self) { try parse(text) }
    #expect(error?.description.contains(place) == true, "\(error?.description ?? "")")
  }

  @Test func mixesOfFlagsAreRead() throws {
    let mix = try SimulatorScript.mix("410=0.01,Shutdown=0.05")
    #expect(mix.map(\.probability) == [0.01, 0.05])
    #expect(throws: SimulatorError.self) { try SimulatorScript.mix("410") }
    #expect(throws: SimulatorError.self) { try SimulatorScript.mix("999=0.1") }
    #expect(throws: SimulatorError.self) { try SimulatorScript.mix("410=x") }
  }
}
