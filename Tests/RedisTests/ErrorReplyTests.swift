import Testing

@testable import Redis

@Suite struct ErrorReplyTests {
  static let table: [(String, RedisErrorReply.Kind, RedisErrorReply.Disposition)] = [
    ("LOADING Redis is loading the dataset in memory", .loading, .wait),
    ("BUSY Redis is busy running a script.", .busy, .wait),
    ("MASTERDOWN Link with MASTER is down", .masterDown, .wait),
    ("TRYAGAIN Multiple keys request during rehashing of slot", .tryAgain, .wait),
    ("CLUSTERDOWN Hash slot not served", .clusterDown, .wait),
    ("READONLY You can't write against a read only replica.", .readOnly, .wait),
    ("OOM command not allowed when used memory > 'maxmemory'.", .outOfMemory, .wait),
    ("MISCONF Redis is configured to save RDB snapshots", .misconfigured, .wait),
    ("NOREPLICAS Not enough good replicas to write.", .noReplicas, .wait),
    ("NOAUTH Authentication required.", .noAuthentication, .forbidden),
    ("WRONGPASS invalid username-password pair", .wrongPassword, .forbidden),
    ("NOPERM this user has no permissions to run the 'get' command", .noPermission, .forbidden),
    ("WRONGTYPE Operation against a key holding the wrong kind", .wrongType, .permanent),
    ("NOSCRIPT No matching script.", .noScript, .permanent),
    ("MOVED 3999 127.0.0.1:6381", .moved, .wait),
    ("ASK 3999 127.0.0.1:6381", .ask, .wait),
    ("CROSSSLOT Keys in request don't hash to the same slot", .crossSlot, .permanent),
    ("ERR unknown command 'X'", .unknownCommand, .permanent),
    ("ERR unknown command `X`, with args beginning with: ", .unknownCommand, .permanent),
    ("ERR Unknown subcommand or wrong number of arguments for 'X'", .unknownCommand, .permanent),
    ("unsupported command 'role'", .unknownCommand, .permanent),
    ("ERR wrong number of arguments for 'get' command", .faulty, .permanent),
    ("wrong number of arguments for 'get' command", .faulty, .permanent),
    ("ERR syntax error", .faulty, .permanent),
    ("ERR hash value is not an integer", .faulty, .permanent),
    ("ERR Error running script (call to f_1): @user_script:3: x", .faulty, .permanent),
    ("ERR user_script:3: attempt to index a nil value script: 1", .faulty, .permanent),
    ("ERR no such key script: 1, on @user_script:3.", .faulty, .permanent),
    ("upstream failure", .other, .unknown),
    ("no upstream host", .other, .unknown),
    ("ERR Connection refused", .other, .unknown),
    ("ERR Connection timed out", .other, .unknown),
    ("ERR Host unreachable, on @user_script", .other, .unknown),
    (
      "ERR Error running script (call to f_1): @user_script: -OOM command not", .outOfMemory, .wait
    ),
    // Valkey's, and Redis' from 7.2 on.
    (
      "ERR ACL failure in script: User u has no permissions to run the 'get' command script: 1, on "
        + "@user_script:1.", .noPermission, .forbidden
    ),
    (
      "ERR ACL failure in script: No permissions to access a key script: 1, on @user_script:1.",
      .noPermission, .forbidden
    ),
    // Redis 6.2's.
    (
      "ERR Error running script (call to f_1): @user_script:1: WRONGTYPE Operation against a key "
        + "holding the wrong kind of value", .wrongType, .permanent
    ),
    (
      "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: The user executing "
        + "the script can't run this command or subcommand", .noPermission, .forbidden
    ),
    (
      "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: Unknown Redis "
        + "command called from Lua script", .faulty, .permanent
    ),
    ("BUSYKEY Target key name already exists.", .other, .unknown),
    ("LOADING", .loading, .wait),
    ("", .other, .unknown),
    ("loading", .other, .unknown),
  ]

  @Test(arguments: table)
  func firstWordDecides(
    message: String, kind: RedisErrorReply.Kind, disposition: RedisErrorReply.Disposition
  ) {
    #expect(ErrorReplyTable.kind(of: message) == kind)
    #expect(RedisErrorReply(message).disposition == disposition)
  }

  @Test func anUnknownErrorIsWaitedForAndShown() {
    let read = RedisRead("SMEMBERS", "k")
    let error = RedisError(RedisErrorReply("upstream failure"), to: read)
    #expect(error.code == .unknownError && error.isTransient && error.isUncertain)
    #expect(!error.isOutOfStep && error.isOutcomeUnknown)
    #expect("\(error)".contains("SMEMBERS k") && "\(error)".hasSuffix(": upstream failure"))
    let long = RedisErrorReply(String(repeating: "e", count: 60_000))
    #expect(RedisError(long).description.utf8.count < 400)
    #expect(RedisError(RedisErrorReply("a secret"), quotes: false).cause == "ERR")
    let refusal = RedisError(RedisErrorReply("ERR unknown command 'X'"), to: read)
    #expect(refusal.code == .unsupported && !refusal.isTransient)
  }

  @Test func theWordIsSafeToLog() {
    #expect(RedisErrorReply("WRONGTYPE x").word == "WRONGTYPE")
    #expect(RedisErrorReply("secret words").word == "ERR")
    #expect(RedisErrorReply("").word == "ERR")
    #expect(RedisErrorReply("\u{1B}[31m").word == "ERR")
  }
}
