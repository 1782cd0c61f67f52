import Processes
import ServerProcesses
import Testing

@testable import Redis

@Suite struct CommandLineTests {
  /// After `SADD one a`, `HSET map field value`, `SET text "two\nlines"`.
  @Test(arguments: [
    ["PING"], ["SET", "key", "value"], ["SET", "key", ""], ["GET", "none"], ["GET", "text"],
    ["INCR", "counter"], ["SMEMBERS", "none"], ["SMEMBERS", "one"], ["HGETALL", "map"],
    ["HMGET", "map", "none", "field"], ["EVAL", "return {1, {2, {}, 'three'}, 4}", "0"],
    ["EVAL", "return {}", "0"], ["ROLE"],
    ["CONFIG", "GET", "save"], ["EXISTS", "größe 名"], ["ACL", "WHOAMI"],
  ])
  func itSaysWhatRedisCliSays(_ command: [String]) throws {
    let server = try RedisServerProcess()
    try server.cli("SADD", "one", "a")
    try server.cli("HSET", "map", "field", "value")
    try server.cli("SET", "text", "two\nlines")
    let expected = try ChildProcess.run(["redis-cli", "-p", "\(server.port)"] + command)
    if command[0] == "INCR" { try server.cli("DECR", command[1]) }
    #expect(try RedisCommandLine.run(command, port: server.port) + "\n" == expected)
  }

  @Test func anErrorIsShownAndNoServerIsThrown() throws {
    let server = try RedisServerProcess()
    try server.cli("SET", "key", "value")
    #expect(try RedisCommandLine.run(["INCR", "key"], port: server.port).hasPrefix("ERR value"))
    server.kill()
    #expect(throws: RedisError.self) { try RedisCommandLine.run(["PING"], port: server.port) }
  }
}
