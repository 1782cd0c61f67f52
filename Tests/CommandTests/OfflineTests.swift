import Checkout
import Fixtures
import JSON
import Processes
import Testing

/// Verbs that look at files only.
@Suite struct OfflineTests {
  private static let event =
    #"{"id":"a1","app":"com.example.live","streamer":{"id":"s1"},"stream":{"id":"b1"},"#
    + #""occurred_at":"2026-01-01T00:00:00Z"}"#

  @Test func checkNamesAllProblemsAtOnce() throws {
    let directory = try ScratchDirectory()
    let config = try directory.write(
      """
      kafka:
        gruop: x
        session_timeout: 4s
      redis:
        port: 99999
      templates:
        directory: .
      """, to: "config.yaml")
    _ = try directory.write("push_type: alrt\n", to: "one.yaml")
    _ = try directory.write("payload: [\n", to: "two.yaml")
    let outcome = try Command.run("check", "--offline", "--config", config)
    #expect(outcome.code == 78)
    for expected in [
      "config.yaml:2:3: unknown key", "did you mean kafka.group?", "config.yaml:3:20: ",
      "config.yaml:5:9: redis.port", "apns.key_file: is not set", "one.yaml:1:12: ",
      "two.yaml:",
    ] { #expect(outcome.text.contains(expected), "\(expected)") }
  }

  /// Nobody knows what a file sets that does not parse.
  @Test func aMistakeIsToldOnce() throws {
    let directory = try ScratchDirectory()
    let config = try directory.write("apns:\n\tkey_file: k.p8\n", to: "config.yaml")
    let tab = try Command.run("check", "--offline", "--config", config)
    #expect(tab.code == 78 && tab.text.contains("config.yaml:2:"), "\(tab.text)")
    #expect(!tab.text.contains("apns.key_file"), "\(tab.text)")
    let gone = try Command.run(
      "check", "--offline", "--set", "apns.key_file=/nowhere/none.p8", "--set",
      "apns.key_id=ABC123DEFG", "--set", "apns.team_id=ABC123DEFG")
    #expect(gone.lines.count { $0.contains("none.p8") } == 1, "\(gone.text)")
  }

  @Test func checkIsJSONForScripts() throws {
    let outcome = try Command.run("check", "--offline", "--json", "--set", "redis.port=0")
    #expect(outcome.code == 78)
    let object = try JSONValue.parse(Array(outcome.text.utf8)).object
    #expect(object?["ok"] == .bool(false))
    let checks = try #require(object?["checks"]?.array)
    #expect(checks.contains { $0.object?["key"]?.string == "redis.port" })
    #expect(object?["problems"]?.integer ?? 0 >= 2)
  }

  @Test func theShippedTemplatesPassTheirTests() throws {
    let templates = Checkout.path("Config/templates")
    let outcome = try Command.run("template", "test", templates)
    #expect(outcome.code == 0 && outcome.text.contains("3 passed, 0 failed"), "\(outcome.text)")
    #expect(try Command.run("template", "lint", templates).code == 0)
    #expect(try Command.run("template", "diff", templates, templates).code == 0)
  }

  @Test func theTestsOfATemplateFailAndAreUpdated() throws {
    let directory = try ScratchDirectory()
    let old = try directory.write("payload: { aps: { alert: hello } }\n", to: "hello.yaml")
    let tests = try directory.write(
      "cases:\n  - name: all\n    expect:\n      body: hullo\n", to: "hello.tests.yaml")
    let failed = try Command.run("template", "test", old)
    #expect(failed.code == 1 && failed.text.contains("hello.tests.yaml:4:13: body (apns, fcm"))
    #expect(failed.lines.contains("                     ^"), "\(failed.text)")
    #expect(try Command.run("template", "test", old, "--update").code == 0)
    #expect(
      try ChildProcess.run(["cat", tests])
        == "cases:\n  - name: all\n    expect:\n      body: \"hello\"\n")
    let new = try directory.write("payload: { aps: { alert: good day } }\n", to: "new.yaml")
    let diff = try Command.run("template", "diff", old, new)
    #expect(diff.code == 1 && diff.text.contains("after   good day"), "\(diff.text)")
    let orphan = try directory.write("cases: []\n", to: "nobody.tests.yaml")
    #expect(try Command.run("template", "test", directory.path).text.contains(orphan))
  }

  @Test func aPreviewNamesWhatIsMissing() throws {
    let directory = try ScratchDirectory()
    let file = try directory.write(
      "payload: { aps: { alert: \"play {{data.game}}\" } }\n", to: "hello.yaml")
    let outcome = try Command.run("template", "preview", file)
    #expect(outcome.code == 0 && outcome.text.contains("play"), "\(outcome.text)")
    #expect(outcome.text.contains("the event has no data.game"))
  }

  @Test func emitTellsWrongFlagsBeforeItConnects() throws {
    let braces = try Command.run("emit", "--streamer", "s{1", "--app", "com.example.live")
    #expect(braces.code == 64 && braces.text.contains("streamer.id must be"))
    let missing = try Command.run("emit", "--app", "com.example.live")
    #expect(missing.code == 64 && missing.text.contains("--streamer"))
  }

  @Test func emitAsksWhetherWorkersHaveTheTemplate() throws {
    let directory = try ScratchDirectory()
    _ = try directory.write("payload: { aps: { alert: hello } }\n", to: "hello.yaml")
    let nobody = "kafka.bootstrap_servers=127.0.0.1:\(try DeadPort.number)"
    func emit(_ template: String, in place: String, _ more: String...) throws -> Command.Outcome {
      let process = try Command.start(
        ["emit", "--streamer", "s1", "--app", "com.example.live", "--template", template]
          + ["--timeout", "200ms", "--set", nobody, "--set", "templates.directory=\(place)"] + more)
      let text = process.readToEnd()
      return Command.Outcome(code: process.waitForExit(), text: text)
    }
    let unknown = try emit("helo", in: directory.path)
    #expect(unknown.code == 1, "\(unknown.text)")
    #expect(unknown.text.contains("holds no template helo (did you mean hello?)"))
    // 69: it got as far as Kafka, which is not there.
    #expect(try emit("helo", in: directory.path, "--any-template").code == 69)
    #expect(try emit("hello", in: directory.path).code == 69)
    // A backend's machine may have no templates: then somebody has to answer for the name.
    let nowhere = directory.file("nothing")
    let unsure = try emit("helo", in: nowhere)
    #expect(unsure.code == 1, "\(unsure.text)")
    #expect(unsure.text.contains("whether workers have the template helo is not known"))
    #expect(unsure.text.contains("--any-template") && unsure.text.contains("nothing was sent"))
    #expect(try emit("helo", in: nowhere, "--any-template").code == 69)
    #expect(try emit("go-live", in: nowhere).code == 69)
  }

  @Test func checkHoldsPayloadsAgainstWhatAppleTakes() throws {
    let directory = try ScratchDirectory()
    _ = try directory.write(
      """
      payload:
        aps:
          alert: { title: hello, titel: x }
          sounds: default
          badge: "3"
          interruption-level: urgent
          relevance-score: 1.5
      """, to: "wrong.yaml")
    _ = try directory.write(
      "payload: { aps: { alert: hello, sounds: x, badge: 3 } }\n", to: "odd.yaml")
    let setting = "templates.directory=\(directory.path)"
    let outcome = try Command.run("check", "--offline", "--set", setting)
    #expect(outcome.code == 78)
    for expected in [
      "wrong.yaml:5:12: aps.badge must be a whole number from 0",
      "wrong.yaml:6:25: aps.interruption-level must be one of passive, active",
      "wrong.yaml:7:22: aps.relevance-score must be a number, 0 to 1",
    ] { #expect(outcome.text.contains(expected), "\(expected): \(outcome.text)") }
    let odd = outcome.lines.first { $0.contains("odd.yaml:1:") }
    #expect(odd?.contains("warning") == true, "\(outcome.text)")
    #expect(odd?.contains("'aps.sounds', the device passes over it; did you mean 'sound'?") == true)
  }

  @Test func checkConnectsAlthoughAKeyIsMissing() throws {
    let nobody = try DeadPort.number
    let settings = [
      "kafka.bootstrap_servers=127.0.0.1:\(nobody)", "redis.port=\(nobody)",
      "apns.production.host=127.0.0.1", "apns.production.port=\(nobody)",
      "apns.sandbox.host=127.0.0.1", "apns.sandbox.port=0",
    ]
    func check(_ settings: [String]) throws -> [String: [String]] {
      let process = try Command.start(
        ["check", "--json", "--timeout", "500ms"] + settings.flatMap { ["--set", $0] })
      let text = process.readToEnd()
      #expect(process.waitForExit() == 78)
      let checks = try JSONValue.parse(Array(text.utf8)).object?["checks"]?.array ?? []
      return Dictionary(grouping: checks) { $0.object?["area"]?.string ?? "" }
        .mapValues { $0.map { $0.object?["status"]?.string ?? "" } }
    }
    // A port that is wrong is not connected to; what stands beside it is.
    let wrong = try check(settings)
    #expect(wrong["kafka"] == ["problem"] && wrong["redis"] == ["problem"], "\(wrong)")
    #expect(wrong["apns"] == ["skipped"])
    let keyless = try check(Array(settings.dropLast()) + ["apns.sandbox.port=\(nobody)"])
    #expect(keyless["apns"] == ["problem"], "\(keyless)")
  }

  @Test func emitTellsWrongLinesWithTheirNumbers() throws {
    let directory = try ScratchDirectory()
    let wrong = Self.event.replacing("a1", with: "a 2")
    let file = try directory.write("\(Self.event)\n\n\(wrong)\n{\n", to: "events.ndjson")
    let outcome = try Command.run("emit", "--file", file)
    #expect(outcome.code == 1)
    #expect(outcome.text.contains("events.ndjson:3: id must be"))
    #expect(outcome.text.contains("events.ndjson:4: "))
    #expect(!outcome.text.contains("events.ndjson:1:"))
  }

  @Test func renderShowsEveryLocale() throws {
    let directory = try ScratchDirectory()
    let file = try directory.write(
      """
      default_locale: en
      payload: { aps: { alert: "{{text.words}}" } }
      locales:
        en: { words: "{{streamer.name}} is live, {{recipient.name|you}}" }
        de: { words: "{{streamer.name}} ist live, {{recipient.name|du}}" }
      """, to: "hello.yaml")
    let outcome = try Command.run(
      "render", file, "--all-locales", "--json", "--field", "name=Mia \"M\"")
    #expect(outcome.code == 0)
    let alerts = try outcome.lines.map {
      try JSONValue.parse(Array($0.utf8)).object?["payload"]?.object?["aps"]?.object?["alert"]?
        .string
    }
    #expect(alerts == ["Aiko is live, Mia \"M\"", "Aiko ist live, Mia \"M\""])
  }

  @Test func renderSaysWhichLocaleItTook() throws {
    let directory = try ScratchDirectory()
    let file = try directory.write(
      """
      default_locale: en
      payload: { aps: { alert: "{{text.words}}" } }
      locales:
        en: { words: "live" }
        ja: { words: "配信中" }
      """, to: "hello.yaml")
    for (given, taken) in [("jp", "en"), ("ja-JP", "ja")] {
      let outcome = try Command.run("render", file, "--locale", given)
      #expect(outcome.code == 0)
      #expect(outcome.text.contains("locale \(given): the template's \(taken) is used"))
    }
    let exact = try Command.run("render", file, "--locale", "ja")
    #expect(exact.code == 0 && !exact.text.contains("is used"))
  }

  /// Before it connects to anything: nobody is there.
  @Test func aReadyFileThatCannotBeWrittenIsToldAtOnce() throws {
    let directory = try ScratchDirectory()
    let nobody = try DeadPort.number
    for path in [directory.file("nowhere/ready"), directory.path] {
      let outcome = try Command.run(
        "worker", "--ready-file", path, "--set", "redis.port=\(nobody)", "--set",
        "kafka.bootstrap_servers=127.0.0.1:\(nobody)")
      #expect(outcome.code == 64)
      #expect(outcome.text.contains("--ready-file cannot be written: \(path)"))
    }
  }

  /// Redis is not asked, and not waited for, when there is nothing to write to it.
  @Test func importLooksForItsFileFirst() throws {
    let directory = try ScratchDirectory()
    let nobody = try DeadPort.number
    for (path, words) in [
      (directory.file("nofile"), "cannot be opened"), (directory.path, "it is a directory"),
    ] {
      let outcome = try Command.run(
        "audience", "import", path, "--set", "redis.port=\(nobody)")
      #expect(outcome.code == 1 && outcome.text.contains(words), "\(outcome.text)")
    }
  }

  @Test func renderNamesTheNearestTemplate() throws {
    let directory = try ScratchDirectory()
    _ = try directory.write("payload: { aps: { alert: hello } }\n", to: "hello.yaml")
    let outcome = try Command.run(
      "render", "helo", "--set", "templates.directory=\(directory.path)")
    #expect(outcome.code == 78)
    #expect(outcome.text.contains("did you mean hello?"))
  }
}
