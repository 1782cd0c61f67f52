import JSON
import TestSupport
import Testing

/// Verbs that look at files only.
@Suite struct OfflineTests {
  private static let event =
    #"{"id":"a1","app":"com.example.live","streamer":{"id":"s1"},"stream":{"id":"b1"},"#
    + #""occurred_at":"2026-01-01T00:00:00Z"}"#

  @Test func checkNamesAllProblemsAtOnce() throws {
    let directory = try TemporaryDirectory()
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

  @Test func checkIsJSONForScripts() throws {
    let outcome = try Command.run("check", "--offline", "--json", "--set", "redis.port=0")
    #expect(outcome.code == 78)
    let object = try JSONValue.parse(Array(outcome.text.utf8)).object
    #expect(object?["ok"] == .bool(false))
    let checks = try #require(object?["checks"]?.array)
    #expect(checks.contains { $0.object?["key"]?.string == "redis.port" })
    #expect(object?["problems"]?.integer ?? 0 >= 2)
  }

  @Test func emitTellsWrongFlagsBeforeItConnects() throws {
    let braces = try Command.run("emit", "--streamer", "s{1", "--app", "com.example.live")
    #expect(braces.code == 64 && braces.text.contains("streamer.id must be"))
    let missing = try Command.run("emit", "--app", "com.example.live")
    #expect(missing.code == 64 && missing.text.contains("--streamer"))
  }

  @Test func emitTellsWrongLinesWithTheirNumbers() throws {
    let directory = try TemporaryDirectory()
    let wrong = Self.event.replacing("a1", with: "a 2")
    let file = try directory.write("\(Self.event)\n\n\(wrong)\n{\n", to: "events.ndjson")
    let outcome = try Command.run("emit", "--file", file)
    #expect(outcome.code == 1)
    #expect(outcome.text.contains("events.ndjson:3: id must be"))
    #expect(outcome.text.contains("events.ndjson:4: "))
    #expect(!outcome.text.contains("events.ndjson:1:"))
  }

  @Test func renderShowsEveryLocale() throws {
    let directory = try TemporaryDirectory()
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

  @Test func renderNamesTheNearestTemplate() throws {
    let directory = try TemporaryDirectory()
    _ = try directory.write("payload: { aps: { alert: hello } }\n", to: "hello.yaml")
    let outcome = try Command.run(
      "render", "helo", "--set", "templates.directory=\(directory.path)")
    #expect(outcome.code == 78)
    #expect(outcome.text.contains("did you mean hello?"))
  }
}
