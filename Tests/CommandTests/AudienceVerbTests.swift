import Glibc
import JSON
import Model
import Processes
import ServerProcesses
import Testing
import WebPushSimulator

/// The audience verbs as processes, against a real redis-server.
@Suite struct AudienceVerbTests {
  private let directory: ScratchDirectory
  private let redis: RedisServerProcess

  init() throws {
    directory = try ScratchDirectory()
    redis = try RedisServerProcess()
  }

  private func run(_ arguments: String...) throws -> Command.Outcome {
    let process = try start(arguments)
    let text = process.readToEnd()
    return Command.Outcome(code: process.waitForExit(), text: text)
  }

  private func start(_ arguments: [String]) throws -> ChildProcess {
    try Command.start(["audience"] + arguments + ["--set", "redis.port=\(redis.port)"])
  }

  /// Lines as a file's, without escapes of Swift's.
  private func importing(_ text: String, _ more: String...) throws -> Command.Outcome {
    let file = try directory.write(text, to: "rows.ndjson")
    let process = try start(["import", file] + more)
    let said = process.readToEnd()
    return Command.Outcome(code: process.waitForExit(), text: said)
  }

  private func follow(_ key: String, _ count: Int) throws {
    let users = (0..<count).map { "user-\($0)" }
    for start in stride(from: 0, to: count, by: 5_000) {
      try redis.cli(["SADD", key] + users[start..<min(start + 5_000, count)])
    }
  }

  private func followers(_ streamer: String) throws -> Int {
    let heading = "ffd:{f:\(streamer)}"
    let generation = try redis.cli("HGET", heading, "generation")
    let shards = try #require(Int(try redis.cli("HGET", heading, "shards")))
    return try (0..<shards).reduce(0) {
      $0 + (Int(try redis.cli("SCARD", "ffd:{f:\(streamer):\(generation):\($1)}")) ?? 0)
    }
  }

  @Test func aTypingMistakeInAKeyErasesNobody() throws {
    try follow("followers:s1", 5_000)
    let first = try run("shard", "--streamer", "s1", "--from-key", "followers:s1")
    #expect(first.code == 0, "\(first.text)")
    for replace in [[], ["--replace"]] {
      let process = try start(
        ["shard", "--streamer", "s1", "--from-key", "folowers:s1"] + replace)
      #expect(process.readToEnd().contains("folowers:s1 holds nobody"))
      #expect(process.waitForExit() == 1)
    }
    #expect(try followers("s1") == 5_000)
    // A wrong key that holds somebody else's followers.
    try follow("followers:s2", 7)
    let wrong = try run("shard", "--streamer", "s1", "--from-key", "followers:s2")
    #expect(wrong.code == 1, "\(wrong.text)")
    #expect(
      wrong.text.contains(
        "s1 has 5000 followers in 4 shards (generation 1), which the 7 members of followers:s2 "
          + "would replace"), "\(wrong.text)")
    #expect(try followers("s1") == 5_000)
    let told = try run("shard", "--streamer", "s1", "--from-key", "followers:s2", "--replace")
    #expect(told.code == 0, "\(told.text)")
    #expect(try followers("s1") == 7)
  }

  @Test func verbsThatOverlapLoseNobody() throws {
    try follow("followers:s1", 20_000)
    #expect(try run("shard", "--streamer", "s1", "--from-key", "followers:s1").code == 0)
    for _ in 0..<6 {
      let verbs = try (0..<3).map { _ in try start(["shard", "--streamer", "s1"]) }
      let codes = verbs.map { $0.waitForExit() }
      #expect(codes.contains(0) && codes.allSatisfy { $0 == 0 || $0 == 75 }, "\(codes)")
      #expect(try followers("s1") == 20_000)
    }
  }

  @Test func seedWritesOverNobody() throws {
    _ = try importing(#"{"user":"made-up-3","profile":{"name":"Mia"}}"# + "\n")
    try redis.cli("SADD", "ffd:{u:other-2}:bindings", "apns:production:com.example.live:aa")
    for prefix in ["made-up-", "other-"] {
      let outcome = try run(
        "seed", "--streamer", "s1", "--followers", "10", "--user-prefix", prefix)
      #expect(outcome.code == 1, "\(outcome.text)")
      #expect(outcome.text.contains("was not made up by audience seed"), "\(outcome.text)")
    }
    #expect(try redis.cli("DBSIZE") == "2")
    try redis.cli("DEL", "ffd:{u:made-up-3}:profile")
    let first = try run("seed", "--streamer", "s1", "--followers", "10")
    #expect(first.code == 0, "\(first.text)")
    // Who was made up may be made up again; who follows is not replaced without a word.
    let again = try run("seed", "--streamer", "s1", "--followers", "20")
    #expect(again.code == 1 && again.text.contains("--replace does it"), "\(again.text)")
    #expect(try followers("s1") == 10)
    let replaced = try run("seed", "--streamer", "s1", "--followers", "20", "--replace")
    #expect(replaced.code == 0, "\(replaced.text)")
    #expect(try followers("s1") == 20)
    #expect(try run("seed", "--streamer", "s2", "--followers", "20").code == 0)
  }

  @Test func seedGivesAShareOfTheDevicesToAndroid() throws {
    let outcome = try run(
      "seed", "--streamer", "s1", "--followers", "20", "--android-share", "1", "--dead-share", "1",
      "--android-dead-prefix", "fault:0:unregistered:", "--muted-share", "0")
    #expect(outcome.code == 0 && outcome.text.contains("Android's"), "\(outcome.text)")
    let members = try (0..<20).flatMap {
      try redis.cli("SMEMBERS", "ffd:{u:made-up-\($0)}:bindings").split(separator: "\n")
    }
    #expect(members.count > 10)
    #expect(members.allSatisfy { $0.hasPrefix("fcm:com.example.live:fault:0:unregistered:") })
    let refused = try run("seed", "--streamer", "s2", "--android-dead-prefix", "a b")
    #expect(refused.code == 64 && refused.text.contains("--android-dead-prefix"))
  }

  @Test func seedGivesAShareOfTheDevicesToBrowsers() throws {
    let outcome = try run(
      "seed", "--streamer", "s1", "--followers", "20", "--browser-share", "1", "--muted-share", "0",
      "--dead-share", "0.5", "--seed", "5", "--set", "webpush.vapid_key_id=new")
    #expect(outcome.code == 0 && outcome.text.contains("browsers"), "\(outcome.text)")
    let members = try (0..<20).flatMap {
      try redis.cli("SMEMBERS", "ffd:{u:made-up-\($0)}:bindings").split(separator: "\n")
    }
    #expect(members.count > 10)
    let numbered = try NumberedSubscriptions(seed: 5)
    for member in members {
      let binding = try #require(Binding(member: String(member)))
      #expect(binding.destination == .webpush && binding.keys.hasSuffix(".new"))
      let rest = binding.token.dropFirst("https://".count)
      let host = String(rest.prefix { $0 != "/" })
      let name = rest.split(whereSeparator: { "/=".contains($0) }).last?.prefix { $0 != "-" } ?? ""
      let parts = name.split(separator: ".")
      let number = try #require(Int(parts.first ?? ""))
      let known = try numbered.subscription(
        number, host: host, parts.count == 3 ? MagicFault(.gone) : nil)
      #expect(binding.token == known.endpoint)
    }
    for word in ["fcm.googleapis.com", "mozilla.com", "push.apple.com", "windows.com", ".0.gone-"] {
      #expect(members.contains { $0.contains(word) }, "\(word)")
    }
    let refused = try run(
      "seed", "--streamer", "s2", "--android-share", "0.6", "--browser-share", "0.6")
    #expect(refused.code == 64 && refused.text.contains("--browser-share"), "\(refused.text)")
  }

  @Test func seedDoesNotHideAPlainSet() throws {
    try follow("followers:s1", 3)
    let plain = ["--set", "audience.plain_set_key=followers:{streamer}"]
    func seed(_ more: [String]) throws -> (Int32, String) {
      let process = try start(["seed", "--streamer", "s1", "--followers", "2"] + plain + more)
      let text = process.readToEnd()
      return (process.waitForExit(), text)
    }
    let refused = try seed([])
    #expect(refused.0 == 1 && refused.1.contains("3 followers in the plain set"), "\(refused.1)")
    #expect(try redis.cli("KEYS", "ffd:*") == "")
    #expect(try seed(["--replace"]).0 == 0)
  }

  @Test func importDoesNotHideAPlainSet() throws {
    try follow("followers:s1", 300)
    let plain = ["--set", "audience.plain_set_key=followers:{streamer}"]
    let rows = #"""
      {"user":"new-1","follows":["s2","s1"]}
      {"user":"new-2","follows":["s2"]}
      """#
    let refused = try importing(rows, plain[0], plain[1])
    #expect(refused.code == 1)
    #expect(
      refused.text.contains("rows.ndjson:1: the followers of s1 are in the plain set"),
      "\(refused.text)")
    #expect(try redis.cli("EXISTS", "ffd:{f:s1}") == "0")
    #expect(try followers("s2") == 1)
    #expect(try run("shard", "--streamer", "s1", "--from-key", "followers:s1").code == 0)
    #expect(try importing(rows, plain[0], plain[1]).code == 0)
    #expect(try followers("s1") == 301)
  }

  @Test func anImportedTokenBelongsToTheLastUserNamed() throws {
    let device = #""devices":[{"token":"ab12","topic":"com.example.live"}]"#
    let outcome = try importing(
      "{\"user\":\"first\",\(device)}\n{\"user\":\"second\",\(device)}\n")
    #expect(outcome.code == 0, "\(outcome.text)")
    #expect(try redis.cli("EXISTS", "ffd:{u:first}:bindings", "ffd:{u:first}:bound") == "0")
    #expect(
      try redis.cli("SMEMBERS", "ffd:{u:second}:bindings")
        == "apns:production:com.example.live:ab12")
    #expect(try redis.cli("GET", "ffd:{t:ab12}") == "second")
  }

  @Test func streamersWhoOnlyLookAlikeAreTwo() throws {
    let (one, two) = ("caf\u{E9}", "cafe\u{301}")
    let rows = (0..<2_100).map { #"{"user":"u\#($0)","follows":["\#(one)","\#(two)"]}"# }
    let outcome = try importing(rows.joined(separator: "\n"))
    #expect(outcome.code == 0, "\(outcome.text)")
    for streamer in [one, two] {
      #expect(try followers(streamer) == 2_100)
      #expect(try redis.cli("HGET", "ffd:{f:\(streamer)}", "shards") == "2")
    }
  }

  @Test func linesOfControlBytesAreErrors() throws {
    let outcome = try importing(
      "{\"user\":\"u1\"}\n\u{1}\u{2}\n \t\r\n\u{B}\n\n{\"user\":\"u2\"}\n")
    #expect(outcome.code == 1)
    #expect(outcome.text.contains("rows.ndjson:2: "), "\(outcome.text)")
    #expect(outcome.text.contains("rows.ndjson:4: "), "\(outcome.text)")
    #expect(!outcome.text.contains("rows.ndjson:3: ") && !outcome.text.contains("ndjson:5: "))
  }

  /// Whether all that was written to the pipe is read, and every thread sleeps.
  private func isWaiting(_ processID: pid_t, pipe: Int32) throws -> Bool {
    var left: Int32 = 0
    guard ioctl(pipe, UInt(FIONREAD), &left) == 0, left == 0 else { return false }
    let states = try ChildProcess.run([
      "sh", "-c", "cat /proc/\(processID)/task/*/stat 2>/dev/null; true",
    ])
    return states.split(separator: "\n").allSatisfy { $0.contains(") S ") }
  }

  @Test func anImportThatWaitsEndsAtTheFirstSignal() throws {
    let pipe = directory.file("pipe")
    try #require(mkfifo(pipe, 0o600) == 0)
    // Open at both ends, so that the reader sees no end.
    let end = open(pipe, O_RDWR)
    try #require(end >= 0)
    defer { close(end) }
    let line = Array(#"{"user":"u1","profile":{"name":"Mia"}}"#.utf8) + [0x0A]
    #expect(write(end, line, line.count) == line.count)
    let process = try ChildProcess(
      [
        "sh", "-c", "exec \"$0\" audience import - --set redis.port=\(redis.port) < \"$1\"",
        Command.path, pipe,
      ], output: .pipe, environment: ["FANFARE_CONFIG": "", "NO_COLOR": "1"])
    let deadline = ContinuousClock.now + .seconds(60)
    while try !isWaiting(process.processID, pipe: end), ContinuousClock.now < deadline {
      _ = poll(nil, 0, 10)
    }
    #expect(ContinuousClock.now < deadline, "it never came to wait")
    process.signal(SIGINT)
    try process.waitForLine(containing: "interrupted", timeout: .seconds(20))
    #expect(process.waitForExit() == 75)
    #expect(try redis.cli("HGET", "ffd:{u:u1}:profile", "name") == "Mia")
  }

  /// Nobody has opened the other end yet.
  @Test func anImportOfAPipeEndsAtTheFirstSignal() throws {
    let pipe = directory.file("pipe")
    try #require(mkfifo(pipe, 0o600) == 0)
    let process = try start(["import", pipe])
    // ROLE is the last that it asks before it opens the pipe.
    let deadline = ContinuousClock.now + .seconds(60)
    while try !redis.cli("CLIENT", "LIST").contains("cmd=role"), ContinuousClock.now < deadline {
      _ = poll(nil, 0, 10)
    }
    #expect(ContinuousClock.now < deadline, "it never came to Redis")
    process.signal(SIGINT)
    try process.waitForLine(containing: "interrupted", timeout: .seconds(20))
    #expect(process.waitForExit() == 75)
  }
}
