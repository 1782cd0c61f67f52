import Checkout
import Glibc
import JSON
import Kafka
import Processes
import ServerProcesses
import Testing

/// What docs/redis.md tells people to type into redis-cli, as it stands there.
@Suite struct DocumentedCommandsTests {
  private let directory: ScratchDirectory
  private let redis: RedisServerProcess

  init() throws {
    directory = try ScratchDirectory()
    redis = try RedisServerProcess()
  }

  /// The lines of the page's shell blocks from the first that begins so to the next blank one or
  /// the end of the block.
  private func commands(from beginning: String) throws -> String {
    let lines = try Checkout.text("docs/redis.md")
      .split(separator: "\n", omittingEmptySubsequences: false)
    let first = try #require(lines.firstIndex { $0.hasPrefix(beginning) })
    return lines[first...].prefix { !$0.isEmpty && $0 != "```" }.joined(separator: "\n")
  }

  /// Runs them in the repository's root, `redis-cli` and `fanfare` being those of this test.
  private func type(_ commands: String, as user: [String] = []) throws -> String {
    let password = try directory.write("change-me", to: "password")
    let options = (["-p", "\(redis.port)"] + user).joined(separator: " ")
    let settings =
      ["redis.port=\(redis.port)"]
      + (user.isEmpty ? [] : ["redis.username=\(user[1])", "redis.password_file=\(password)"])
    return try ChildProcess.run(
      [
        "bash", "-c",
        """
        cd '\(Checkout.root)' && exec 2>&1 && set -e && export FANFARE_CONFIG=
        redis-cli() { command redis-cli --no-auth-warning \(options) "$@"; }
        fanfare() { '\(Command.path)' "$@" --set '\(settings.joined(separator: "' --set '"))'; }
        \(commands)
        """,
      ])
  }

  @Test func theExamplesWriteWhatTheTableSays() throws {
    _ = try type(try commands(from: "token=aabb"))
    let token = "aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899"
    #expect(
      try redis.cli("SMEMBERS", "ffd:{u:u1}:bindings")
        == "apns:production:com.example.live:\(token)")
    #expect(try redis.cli("HLEN", "ffd:{u:u1}:bound") == "1")
    #expect(try redis.cli("HGET", "ffd:{u:u1}:profile", "name") == "Ken")
    #expect(try redis.cli("GET", "ffd:{t:\(token)}") == "u1")
    #expect(try redis.cli("SMEMBERS", "ffd:{f:s42:0:0}") == "u1")
    _ = try type(try commands(from: "redis-cli SADD followers:s44"))
    #expect(try redis.cli("SCARD", "followers:s44") == "3")
    #expect(try redis.cli("SCARD", "ffd:{f:s44:1:0}") == "4")
  }

  @Test func theUsersMayDoWhatTheyAreFor() throws {
    let made = try type(try commands(from: "redis-cli ACL SETUSER dashboard"))
    let answers = made.split(separator: "\n")
    #expect(answers.count >= 4 && answers.allSatisfy { $0 == "OK" }, "\(made)")
    let audience = ["--user", "audience", "--pass", "change-me"]
    try redis.cli("SADD", "followers:s9", "a", "b")
    try redis.cli(
      "HSET", "ffd:{u:z}:quarantined", "apns:production:com.example:aa", "BadDeviceToken")
    let device = #""devices":[{"token":"ab12","topic":"com.example.live"}]"#
    let said = try type(
      """
      printf '%s\\n' '{"user":"x","follows":["s1"],\(device)}' '{"user":"y",\(device)}' |
        fanfare audience import -
      fanfare audience seed --streamer s2 --followers 50
      fanfare audience seed --streamer s2 --followers 40 --replace
      fanfare audience shard --streamer s9 --from-key followers:s9
      fanfare audience shard --streamer s9
      fanfare device restore --all --apply
      \(try commands(from: "fanfare device bind u5"))
      fanfare device bind u6 --token aa11 --app com.example.live
      fanfare follow u6 s42
      \(try commands(from: "fanfare user forget u5").replacing("u5", with: "u6"))
      fanfare user forget u5 --everywhere --audience --apply
      echo everything
      """, as: audience)
    #expect(said.hasSuffix("everything\n"), "\(said)")
    #expect(!said.contains("NOPERM"), "\(said)")
    #expect(try redis.cli("GET", "ffd:{t:ab12}") == "y")
    #expect(try redis.cli("SCARD", "ffd:{u:z}:bindings") == "1")
    #expect(try redis.cli("KEYS", "ffd:{u:u[56]}*").contains("moves"))
    #expect(try redis.cli("EXISTS", "ffd:{u:u6}:bindings", "ffd:{u:u5}:profile") == "0")
    #expect(try redis.cli("SCARD", "ffd:{f:s42:0:0}") == "0")

    try redis.cli("HSET", "ff:{e:e9}", "state", "running")
    let haltd = try type(
      "fanfare fanout list; fanfare fanout pause e9; fanfare fanout resume e9",
      as: ["--user", "operator", "--pass", "change-me"])
    #expect(!haltd.contains("NOPERM"), "\(haltd)")
    _ = try type("fanfare fanout pause e9", as: ["--user", "operator", "--pass", "change-me"])
    #expect(try redis.cli("HGET", "ff:{e:e9}", "brake") == "paused")

    let backend = ["--user", "backend", "--pass", "change-me"]
    let done = try type(
      """
      redis-cli --eval Config/redis/bind.lua 'ffd:{t:cc}' , bind u1 production com.example \
        1700000000000
      redis-cli --eval Config/redis/bind.lua 'ffd:{t:cc}' , bind u2 production com.example
      redis-cli --eval Config/redis/bind.lua 'ffd:{t:cc}' , unbind u2 production com.example
      redis-cli --eval Config/redis/follow.lua 'ffd:{f:new}' , follow u1
      redis-cli --eval Config/redis/follow.lua 'ffd:{f:s9}' followers:s9 , unfollow a
      redis-cli --eval Config/redis/follow.lua 'ffd:{f:s8}' followers:s8 , follow a
      """, as: backend)
    #expect(done == "1\n1\n1\n1\n1\n1\n", "\(done)")
  }

  /// `fanfare api`, as the user that is made for it: what `examples` ask for, and the rest.
  @Test func theAPIMayDoWhatItServes() throws {
    _ = try type(try commands(from: "redis-cli ACL SETUSER dashboard"))
    let broker = try EmbeddedBroker(topics: [(name: "notify-followers", partitions: 1)])
    let made = try Command.run("api-key", "boss", "--scope", "admin", "--json")
    let key = try #require(try JSONValue.parse(Array(made.text.utf8)).object)
    let line = try #require(key["line"]?.string)
    let secret = try #require(key["key"]?.string)
    let port = try LocalPort.findFree()
    let settings = [
      "api.keys_file=\(try directory.write(line + "\n", to: "keys"))", "api.port=\(port)",
      "redis.port=\(redis.port)", "redis.username=api",
      "redis.password_file=\(try directory.write("change-me", to: "password"))",
      "kafka.bootstrap_servers=\(broker.bootstrapServers)",
    ]
    let server = try ChildProcess(
      [Command.path, "api"] + settings.flatMap { ["--set", $0] },
      output: .file(directory.file("log")), environment: ["FANFARE_CONFIG": ""])
    let deadline = ContinuousClock.now + .seconds(60)
    while !LocalPort.isListening(port), ContinuousClock.now < deadline { _ = poll(nil, 0, 20) }

    let url = "http://127.0.0.1:\(port)"
    _ = try ChildProcess.run([
      "env", "FANFARE_URL=\(url)", "FANFARE_KEY=\(secret)", "python3",
      "\(Checkout.root)/examples/python/backend.py",
    ])
    try redis.cli("HSET", "ff:{e:e9}", "state", "running")
    for (method, path, body) in [
      ("PUT", "users/u1/devices/aa", #"{"topic":"com.example"}"#),
      ("PUT", "users/u1/devices/bb", #"{"topic":"com.example","replaces":"aa"}"#),
      ("PUT", "users/u1/follows/s1", #"{"muted":true}"#), ("GET", "users/u1", ""),
      ("GET", "users/u1/devices", ""), ("GET", "audiences/s42?sample=9", ""),
      ("GET", "fanouts/e9", ""), ("POST", "fanouts/e9/pause", "{}"),
      ("POST", "fanouts/e9/cancel", #"{"reason":"wrong title"}"#),
      ("DELETE", "users/u1/follows/s1", ""), ("DELETE", "users/u1?everywhere=true", ""),
    ] {
      let type = body.isEmpty ? [] : ["-H", "Content-Type: application/json", "-d", body]
      #expect(throws: Never.self) {
        _ = try ChildProcess.run(
          ["curl", "-sSf", "-X", method, "-H", "Authorization: Bearer \(secret)"] + type
            + ["\(url)/v1/\(path)"])
      }
    }
    #expect(server.stop(SIGTERM) == 0)
    // Redis notes there who asked for what may not be.
    #expect(try redis.cli("ACL", "LOG") == "")
    #expect(try redis.cli("EXISTS", "ffd:{u:u1}:bindings", "ffd:{t:bb}") == "0")
  }
}
