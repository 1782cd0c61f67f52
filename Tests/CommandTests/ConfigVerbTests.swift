import JSON
import Processes
import Testing

/// `fanfare config`: values with their origins, and the schema.
@Suite struct ConfigVerbTests {
  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  private func file(_ text: String) throws -> String {
    try directory.write(text, to: "fanfare.yaml")
  }

  @Test func showNamesValuesAndOrigins() throws {
    let file = try file("redis: {host: redis.internal, password: hunter2}\n")
    let shown = try Command.run(
      "config", "show", "--changed", "--config", file, "--set", "redis.port=7")
    #expect(shown.code == 0, "\(shown.text)")
    let lines = shown.text.split(separator: "\n").map {
      $0.split(separator: " ").joined(separator: " ")
    }
    #expect(lines.contains("redis.host redis.internal \(file):1:15"), "\(lines)")
    #expect(lines.contains("redis.port 7 --set redis.port"), "\(lines)")
    #expect(lines.contains { $0.hasPrefix("redis.password (redacted)") }, "\(lines)")
    #expect(!shown.text.contains("hunter2"))
    #expect(lines.count { $0.hasPrefix("redis.") } == 3 && !shown.text.contains("kafka"))
  }

  @Test func showTakesAPrefix() throws {
    let topics = try Command.run("config", "show", "kafka.topics", "--json")
    let object = try #require(try JSONValue.parse(Array(topics.text.utf8)).object)
    let settings = try #require(object["settings"]?.array).compactMap(\.object)
    #expect(settings.count == 7)
    #expect(settings.allSatisfy { $0["key"]?.string?.hasPrefix("kafka.topics.") == true })
    #expect(settings.first?["value"]?.string == "notify-followers")
    let from = try #require(settings.first?["from"]?.array?.first?.object)
    #expect(from["kind"]?.string == "default")
    let none = try Command.run("config", "show", "rediss")
    #expect(none.code == 64 && none.text.contains("did you mean redis?"), "\(none.text)")
  }

  @Test func aWrongSettingIsSaidAndEndsWith78() throws {
    let file = try file("redis: {port: 70000}\n")
    let shown = try Command.run("config", "show", "redis.port", "--config", file)
    #expect(shown.code == 78, "\(shown.text)")
    #expect(shown.text.contains("must be at most 65535"), "\(shown.text)")
    #expect(shown.text.contains("6379"), "\(shown.text)")
  }

  @Test func theSchemaIsJSON() throws {
    let schema = try Command.run("config", "schema")
    #expect(schema.code == 0)
    let object = try #require(try JSONValue.parse(Array(schema.text.utf8)).object)
    let groups = try #require(object["properties"]?.object)
    #expect(groups["redis"]?.object?["properties"]?.object?["port"] != nil)
  }
}
