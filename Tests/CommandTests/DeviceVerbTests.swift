import JSON
import ServerProcesses
import Testing

/// `device restore` as a process, against a real redis-server.
@Suite struct DeviceVerbTests {
  private let redis: RedisServerProcess

  init() throws { redis = try RedisServerProcess() }

  private func member(_ token: String, _ topic: String = "com.example.live") -> String {
    "apns:production:\(topic):\(token)"
  }

  private func setAside(_ user: String, _ member: String, _ value: String) throws {
    try redis.cli("HSET", "ffd:{u:\(user)}:quarantined", member, value)
  }

  private func restore(_ arguments: String...) throws -> (code: Int32, object: JSONObject?) {
    let process = try Command.start(
      ["device", "restore", "--json", "--set", "redis.port=\(redis.port)"] + arguments)
    let text = process.readToEnd()
    return (process.waitForExit(), try Self.summary(text))
  }

  /// The last line; what stands above it is of the progress.
  private static func summary(_ text: String) throws -> JSONObject? {
    guard let line = text.split(separator: "\n").last, line.hasPrefix("{") else { return nil }
    return try JSONValue.parse(Array(line.utf8)).object
  }

  @Test func givesBackWhatWasSetAside() throws {
    try redis.cli(
      "EVAL",
      "for i = 0, 1499 do redis.call('HSET', 'ffd:{u:u' .. i .. '}:quarantined', ARGV[1] .. "
        + "(1000 + i), 'BadDeviceToken') end", "0", member("aa"))
    let told = try restore("--all")
    #expect(told.code == 0 && told.object?["restored"]?.integer == 1_500)
    #expect(told.object?["applied"]?.bool == false)
    #expect(try redis.cli("EXISTS", "ffd:{u:u1}:bindings") == "0")
    // Not by mistake everything.
    #expect(try restore("--apply").code == 64)
    let done = try restore("--all", "--apply")
    #expect(done.code == 0 && done.object?["restored"]?.integer == 1_500)
    for index in [0, 777, 1_499] {
      let token = "aa\(1_000 + index)"
      #expect(try redis.cli("SMEMBERS", "ffd:{u:u\(index)}:bindings") == member(token))
      #expect(try redis.cli("EXISTS", "ffd:{u:u\(index)}:quarantined") == "0")
      #expect(try redis.cli("GET", "ffd:{t:\(token)}") == "u\(index)")
    }
    #expect(try restore("--all", "--apply").object?["restored"]?.integer == 0)
  }

  @Test func filtersAreObeyed() throws {
    try setAside("u1", member("a1"), "BadDeviceToken")
    try setAside("u1", member("a2"), "DeviceTokenNotForTopic")
    try setAside("u2", member("a3", "com.example.other"), "BadDeviceToken")
    try setAside("u3", "apns:sandbox:com.example.live:a4", "BadDeviceToken")
    // With the time behind the reason, however it is written.
    try setAside("u4", member("a5"), "BadDeviceToken 1000")
    try setAside("u5", member("a6"), "BadDeviceToken@3000")
    try setAside("u6", "what is this", "BadDeviceToken")
    func count(_ arguments: String...) throws -> Int64? {
      let process = try Command.start(
        ["device", "restore", "--json", "--set", "redis.port=\(redis.port)"] + arguments)
      let text = process.readToEnd()
      #expect(process.waitForExit() == 0, "\(text)")
      return try Self.summary(text)?["restored"]?.integer
    }
    #expect(try count() == 6)
    #expect(try restore().object?["unreadable"]?.integer == 1)
    #expect(try count("--user", "u1") == 2)
    #expect(try count("--token", "A3") == 1)
    #expect(try count("--reason", "DeviceTokenNotForTopic") == 1)
    #expect(try count("--reason", "BadDeviceToken") == 5)
    #expect(try count("--topic", "com.example.other") == 1)
    #expect(try count("--environment", "sandbox") == 1)
    #expect(try count("--since", "1000") == 2)
    #expect(try count("--since", "1970-01-01T00:00:02Z", "--before", "4000") == 1)
    #expect(try count("--before", "3000") == 1)
    #expect(try count("--user", "u1", "--reason", "BadDeviceToken", "--apply") == 1)
    #expect(try redis.cli("SMEMBERS", "ffd:{u:u1}:bindings") == member("a1"))
    #expect(try redis.cli("HKEYS", "ffd:{u:u1}:quarantined") == member("a2"))
    for wrong in [["--since", "soon"], ["--token", "xyz"], ["--user", "a{b"]] {
      let process = try Command.start(["device", "restore"] + wrong)
      #expect(!process.readToEnd().contains("xyz"))
      #expect(process.waitForExit() == 64)
    }
  }

  /// What Apple called gone comes back by a flag of its own, with the time of its binding.
  @Test func givesBackWhatWasPruned() throws {
    let now = Int64(try redis.cli("EVAL", "return redis.call('TIME')[1] * 1000", "0")) ?? 0
    let hour: Int64 = 3_600_000
    try setAside("u1", member("a1"), "Unregistered \(now - hour) pruned \(now - 90 * hour)")
    try setAside("u1", member("a2"), "ExpiredToken \(now - 50 * hour) pruned -")
    try setAside("u2", member("a3", "com.example.other"), "Unregistered \(now - hour) pruned -")
    try setAside("u3", member("a4"), "BadDeviceToken \(now - hour)")
    #expect(try restore("--all").object?["restored"]?.integer == 1)
    #expect(try restore("--pruned-since", "2d").object?["restored"]?.integer == 2)
    #expect(try restore("--pruned-since", "2009-06-20").object?["restored"]?.integer == 3)
    let topic = try restore("--pruned-since", "3d", "--topic", "com.example.live", "--apply")
    #expect(topic.code == 0 && topic.object?["restored"]?.integer == 2)
    #expect(try redis.cli("SCARD", "ffd:{u:u1}:bindings") == "2")
    #expect(try redis.cli("HGET", "ffd:{u:u1}:bound", member("a1")) == "\(now - 90 * hour)")
    #expect(try redis.cli("HEXISTS", "ffd:{u:u1}:bound", member("a2")) == "0")
    #expect(try redis.cli("GET", "ffd:{t:a1}") == "u1")
    #expect(try redis.cli("EXISTS", "ffd:{u:u1}:quarantined") == "0")
    #expect(try redis.cli("EXISTS", "ffd:{u:u2}:bindings", "ffd:{u:u3}:bindings") == "0")
  }

  /// Something quarantined beside it keeps the hash, and nothing keeps the note of who bound the
  /// token since.
  @Test func whatWasPrunedLongAgoIsNotGivenBack() throws {
    let now = Int64(try redis.cli("EVAL", "return redis.call('TIME')[1] * 1000", "0")) ?? 0
    let day: Int64 = 86_400_000
    try setAside("u1", member("a1"), "Unregistered \(now - 8 * day) pruned \(now - 90 * day)")
    try setAside(
      "u1", member("a2"), "BadDeviceToken \(now - 9 * day) quarantined \(now - 90 * day)")
    #expect(try restore("--pruned-since", "30d", "--apply").object?["restored"]?.integer == 0)
    #expect(try redis.cli("EXISTS", "ffd:{u:u1}:bindings") == "0")
    // What was quarantined has no such bound, and its time back, too.
    #expect(try restore("--all", "--apply").object?["restored"]?.integer == 1)
    #expect(try redis.cli("HGET", "ffd:{u:u1}:bound", member("a2")) == "\(now - 90 * day)")
    #expect(try redis.cli("HEXISTS", "ffd:{u:u1}:quarantined", member("a1")) == "1")
  }

  @Test func keysOfAnotherTypeKeepNobodyElseAway() throws {
    try redis.cli("SET", "ffd:{u:u1}:quarantined", "x")
    try setAside("u2", member("a2"), "BadDeviceToken")
    try redis.cli("SET", "ffd:{u:u2}:bindings", "x")
    for index in 3..<10 { try setAside("u\(index)", member("a\(index)"), "BadDeviceToken") }
    let outcome = try restore("--all", "--apply")
    #expect(outcome.code == 0 && outcome.object?["restored"]?.integer == 7)
    #expect(outcome.object?["unreadable"]?.integer == 2)
    #expect(try redis.cli("HLEN", "ffd:{u:u2}:quarantined") == "1")
  }

  @Test func aPrefixWithPatternsInItIsAPrefix() throws {
    for prefix in ["p[1]*:", "p1x:"] {
      try redis.cli("HSET", "\(prefix){u:u1}:quarantined", member("a1"), "BadDeviceToken")
    }
    let outcome = try restore("--all", "--apply", "--set", "redis.prefix.data=p[1]*:")
    #expect(outcome.code == 0 && outcome.object?["restored"]?.integer == 1)
    #expect(try redis.cli("SCARD", "p[1]*:{u:u1}:bindings") == "1")
    #expect(try redis.cli("EXISTS", "p1x:{u:u1}:bindings") == "0")
  }

  @Test func aTokenThatAnotherUserHasBoundStaysAway() throws {
    try setAside("u1", member("a1"), "BadDeviceToken")
    try setAside("u2", member("a1"), "BadDeviceToken")
    try redis.cli("SET", "ffd:{t:a1}", "u3")
    try redis.cli("SADD", "ffd:{u:u3}:bindings", member("a1"))
    for arguments in [["--all"], ["--all", "--apply"]] {
      let outcome = try restore(arguments[0], arguments.last ?? "")
      #expect(outcome.object?["taken_by_another"]?.integer == 2)
      #expect(outcome.object?["restored"]?.integer == 0)
    }
    #expect(try redis.cli("EXISTS", "ffd:{u:u1}:bindings", "ffd:{u:u2}:bindings") == "0")
    // Nobody's: the first who gets it back has it, the other has not.
    try redis.cli("DEL", "ffd:{t:a1}", "ffd:{u:u3}:bindings")
    let done = try restore("--all", "--apply")
    #expect(done.object?["restored"]?.integer == 1)
    #expect(done.object?["taken_by_another"]?.integer == 1)
  }
}
