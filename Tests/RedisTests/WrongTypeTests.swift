import ServerProcesses
import Testing

@testable import Redis

/// Redis does not say which key holds another type.
@Suite struct WrongTypeTests {
  private static let token = String(repeating: "ab", count: 32)

  @Test func theKeyIsNamed() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      try await lane.run { lane async throws in
        let script = "return redis.call('HGET', KEYS[#KEYS], 'a')"
        let pipeline = RedisPipeline(
          ["SET", "k 1", "x"], ["SET", "{t:\(Self.token)}", "x"], ["HGET", "k 1", "a"],
          ["GET", "none"], ["HLEN", "{t:\(Self.token)}"], ["EVAL", script, "1", "k 1"],
          ["EVAL", script, "2", "{k}", "k 1", "no key"],
          ["EVAL", "return redis.pcall('HGET', KEYS[1], 'a')", "1", "k 1"])
        let replies = try await lane.client.execute(pipeline)
        func words(_ index: Int) -> String? {
          replies[index].error.map { "\(RedisError($0, quotes: false))" }
        }
        let end = ": RENAME or DEL it"
        #expect(words(2) == "k 1 holds another type than HGET takes" + end)
        #expect(words(3) == nil)
        #expect(words(4) == "the key of a token holds another type than HLEN takes" + end)
        #expect(words(5) == "k 1 holds another type than a script takes" + end)
        #expect(words(6) == "one of {k}, k 1 holds another type than a script takes" + end)
        #expect(words(7) == words(5))
        #expect(replies[2].error?.kind == .wrongType)
      }
    }
  }

  @Test func aScriptThatNamesTheKeyIsQuoted() {
    let reply = RedisErrorReply("WRONGTYPE {u:u 1}:bound is a string, not a hash")
    #expect(RedisError(reply).message == "{u:u 1}:bound is a string, not a hash: RENAME or DEL it")
    let error = RedisError.wrongType(of: "{t:\(Self.token)}:moves", "set", not: "hash")
    #expect(error.message == "the key of a token is a set, not a hash: RENAME or DEL it")
    #expect(error.code == .wrongType)
  }

  @Test func whatNobodyNamesStaysAsItIs() {
    let reply = RedisErrorReply("WRONGTYPE Operation against a key holding the wrong kind of value")
    #expect(RedisError(reply).cause == reply.message)
  }

  /// Of an AUTH that it does not know Redis quotes the arguments.
  @Test func aCommandThatRedisDoesNotHaveIsNamedWithoutItsArguments() {
    let reply = RedisErrorReply("ERR unknown command 'HDEL', with args beginning with: 'canary' ")
    let error = RedisError(reply, quotes: false)
    #expect(error.code == .unsupported && error.message.contains("HDEL"))
    #expect(!error.description.contains("canary"))
    let odd = RedisErrorReply("ERR unknown command 'a canary' ")
    #expect(!RedisError(odd, quotes: false).description.contains("canary"))
  }
}
