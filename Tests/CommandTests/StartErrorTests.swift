import JSON
import Processes
import Testing

/// What ends `worker` and `api` at their start is in the log, in its format: whoever collects lines
/// of JSON would lose anything else.
@Suite struct StartErrorTests {
  private static func lines(_ said: Command.Outcome) throws -> [JSONObject] {
    try said.lines.map { try #require(try JSONValue.parse(Array($0.utf8)).object, "\($0)") }
  }

  @Test(arguments: ["worker", "api"])
  func aMistakeInTheConfigurationIsLines(of verb: String) throws {
    let directory = try ScratchDirectory()
    let file = try directory.write(
      "log: { format: json }\nredis: { prot: 1, port: 99999 }\nlanes: { count: many }\n",
      to: "fanfare.yaml")
    let said = try Command.run(verb, "--config", file)
    #expect(said.code == 78)
    let lines = try Self.lines(said)
    #expect(lines.allSatisfy { $0["ts"] != nil && $0["level"] != nil && $0["msg"] != nil })
    let port = try #require(lines.first { $0["key"]?.string == "redis.port" })
    #expect(port["level"]?.string == "error" && port["place"]?.string?.contains(":2:") == true)
    #expect(port["reason"]?.string?.isEmpty == false)
    #expect(lines.contains { $0["key"]?.string == "lanes.count" })
    #expect(
      lines.contains {
        $0["level"]?.string == "warning" && $0["reason"]?.string?.contains("redis.prot") == true
      })
    #expect(lines.last?["msg"]?.string == "the process ends" && lines.last?["code"]?.integer == 78)
  }

  @Test func soIsAFileThatCannotBeRead() throws {
    let directory = try ScratchDirectory()
    let said = try Command.run(
      "api", "--set", "log.format=json", "--set", "api.keys_file=\(directory.file("none"))")
    #expect(said.code == 78, "\(said.text)")
    let lines = try Self.lines(said)
    #expect(lines.contains { $0["finding"]?.string?.contains("api.keys_file") == true })
    #expect(lines.last?["code"]?.integer == 78)
  }

  @Test func peopleGetText() throws {
    let said = try Command.run("api", "--set", "log.format=text", "--set", "redis.port=99999")
    #expect(said.code == 78)
    #expect(said.lines.contains { $0.contains("the configuration is wrong") }, "\(said.text)")
    #expect(!said.text.contains("{\"ts\""))
  }
}
