import ServerProcesses
import Testing

/// `trace` as a process: what people read.
@Suite struct TraceVerbTests {
  private static let token = "00112233445566778899aabbccddeeff"

  /// In a line of 100 cells, which is less than the table of devices would like.
  @Test func theIDThatAppleIsAskedAboutIsWhole() throws {
    let redis = try RedisServerProcess()
    let member = "apns:production:com.example.live:\(Self.token)"
    for command in [
      [
        "HSET", "ff:{e:e1}", "state", "done", "streamer", "s1", "template", "go-live", "plan",
        "generation:0", "segments", "1", "settled", "1", "accepted", "3", "trace", "failures",
        "started_ms", "1790000000000",
      ],
      ["SADD", "ff:{e:e1}:settled", "0.0"],
      [
        "SET", "ffd:{e:e1}:document",
        #"{"id":"e1","app":"com.example.live","streamer":{"id":"s1"},"stream":{"id":"b1"},"#
          + #""occurred_at":"2026-09-21T00:00:00Z"}"#,
      ],
      ["HSET", "ffd:{f:s1}", "shards", "1", "generation", "0", "followers", "1"],
      ["SADD", "ffd:{f:s1:0:0}", "u1"], ["SADD", "ffd:{u:u1}:bindings", member],
      ["HSET", "ffd:{u:u1}:bound", member, "1780000000000"],
    ] { try redis.cli(command) }
    func trace(_ more: String...) throws -> Command.Outcome {
      let process = try Command.start(
        ["trace", "--event", "e1", "--user", "u1", "--set", "redis.port=\(redis.port)"] + more)
      let text = process.readToEnd()
      return Command.Outcome(code: process.waitForExit(), text: text)
    }
    let json = try trace("--json")
    let id = try #require(json.text.firstMatch(of: /"apns_id":"([0-9a-f-]{36})"/)?.1, "\(json)")
    let text = try trace()
    #expect(text.code == 0, "\(text.text)")
    #expect(text.lines.contains("  apns-id \(id) of 00112233…"), "\(text.text)")
    #expect(try trace("--tokens").lines.contains("  apns-id \(id) of \(Self.token)"))
  }
}
