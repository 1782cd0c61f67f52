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
    ("OOM command not allowed when used memory > 'maxmemory'.", .outOfMemory, .alert),
    ("MISCONF Redis is configured to save RDB snapshots", .misconfigured, .alert),
    ("NOREPLICAS Not enough good replicas to write.", .noReplicas, .alert),
    ("NOAUTH Authentication required.", .noAuthentication, .fatal),
    ("WRONGPASS invalid username-password pair", .wrongPassword, .fatal),
    ("NOPERM this user has no permissions to run the 'get' command", .noPermission, .fatal),
    ("WRONGTYPE Operation against a key holding the wrong kind", .wrongType, .permanent),
    ("NOSCRIPT No matching script.", .noScript, .permanent),
    ("MOVED 3999 127.0.0.1:6381", .moved, .permanent),
    ("ASK 3999 127.0.0.1:6381", .ask, .permanent),
    ("CROSSSLOT Keys in request don't hash to the same slot", .crossSlot, .permanent),
    ("ERR unknown command 'X'", .other, .permanent),
    (
      "ERR Error running script (call to f_1): @user_script: -OOM command not", .outOfMemory, .alert
    ),
    ("BUSYKEY Target key name already exists.", .other, .permanent),
    ("LOADING", .loading, .wait),
    ("", .other, .permanent),
    ("loading", .other, .permanent),
  ]

  @Test(arguments: table)
  func firstWordDecides(
    message: String, kind: RedisErrorReply.Kind, disposition: RedisErrorReply.Disposition
  ) {
    #expect(RedisErrorReply.classify(message) == kind)
    #expect(RedisErrorReply(message).disposition == disposition)
  }

  @Test func theWordIsSafeToLog() {
    #expect(RedisErrorReply("WRONGTYPE x").word == "WRONGTYPE")
    #expect(RedisErrorReply("secret words").word == "ERR")
    #expect(RedisErrorReply("").word == "ERR")
    #expect(RedisErrorReply("\u{1B}[31m").word == "ERR")
  }
}
