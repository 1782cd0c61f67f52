import ServerProcesses
import Testing

/// The verbs of tags as processes, against a real redis-server.
@Suite struct TagVerbTests {
  private let redis: RedisServerProcess

  init() throws { redis = try RedisServerProcess() }

  private func run(_ arguments: String...) throws -> Command.Outcome {
    let process = try Command.start(["tag"] + arguments + ["--set", "redis.port=\(redis.port)"])
    let text = process.readToEnd()
    return Command.Outcome(code: process.waitForExit(), text: text)
  }

  @Test func whatChangedIsTold() throws {
    #expect(try run("add", "beta", "u1", "u2").text.contains("beta: 2 of 2 got it"))
    #expect(try run("add", "beta", "u2", "u3").text.contains("beta: 1 of 2 got it"))
    #expect(
      try run("remove", "beta", "u1", "u9", "--json").text.contains(
        #"{"tag":"beta","users":2,"changed":1}"#))
    let shown = try run("show", "beta", "--limit", "5")
    #expect(shown.code == 0 && shown.text.contains("u2") && shown.text.contains("u3"))
    #expect(!shown.text.contains("u1") && !shown.text.contains("they should have"))
    #expect(try run("show", "beta", "--json").text.contains(#""users":2,"shards":1"#))
  }

  @Test func aTagThatHasOutgrownItsShardsSaysWhatToDo() throws {
    _ = try run("add", "beta", "u0")
    let generation = try redis.cli("HGET", "ffd:{g:beta}", "generation")
    let users = (0..<5_000).map { "user-\($0)" }
    _ = try redis.cli(["SADD", "ffd:{g:beta:\(generation):0}"] + users)
    let shown = try run("show", "beta")
    #expect(
      shown.text.contains("they should have 4 shards: fanfare tag shard beta"), "\(shown.text)")
    #expect(try run("shard", "beta", "--json").text.contains(#""users":5001,"shards":4"#))
    #expect(!(try run("show", "beta").text.contains("they should have")))
  }
}
