import Checks
import Settings
import Terminal
import Testing

@Suite struct CheckListTests {
  private func list(deniesWarnings: Bool = false) -> CheckList {
    CheckList(deniesWarnings: deniesWarnings)
  }

  @Test func nothingWrongIsNoProblem() {
    var list = list()
    list.ok("kafka", "broker 127.0.0.1:9092")
    list.skipped("redis", "not connected to")
    #expect(list.exitCode == .ok && list.problems == 0 && list.warnings == 0)
  }

  @Test func whatWaitingMendsIsUnavailableAndWhatItDoesNotIsConfiguration() {
    var list = list()
    list.problem("redis", .dependency, "nobody answers")
    #expect(list.exitCode == .unavailable)
    list.problem("kafka", .configuration, "no such user")
    #expect(list.exitCode == .config)
  }

  @Test func warningsAreProblemsForWhoeverDeniesThem() {
    var lenient = list()
    lenient.warning("redis", .dependency, "no password")
    lenient.add(
      "templates",
      SettingsFinding(.warning, place: "a.yaml:1:1", key: nil, message: "looks mistaken"))
    #expect(lenient.exitCode == .ok && lenient.warnings == 2)
    var strict = list(deniesWarnings: true)
    strict.warning("redis", .dependency, "no password")
    #expect(strict.exitCode == .unavailable && strict.problems == 1)
  }

  @Test func scriptsGetWhatPeopleSee() {
    var list = list()
    list.problem(
      "kafka.group", .configuration, "the key is wrong", of: "a", key: "kafka.group",
      hint: "mend it")
    let json = list.json.serialized()
    #expect(
      json
        == #"{"ok":false,"problems":1,"warnings":0,"checks":[{"id":"kafka.group","area":"kafka","#
        + #""status":"problem","message":"the key is wrong","subject":"a","#
        + #""key":"kafka.group","hint":"mend it"}]}"#)
  }
}
