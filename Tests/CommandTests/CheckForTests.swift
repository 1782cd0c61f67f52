import Checkout
import Glibc
import Kafka
import Processes
import ServerProcesses
import Testing

/// `fanfare check --for`: each process' configuration passes without what only others need.
@Suite struct CheckForTests {
  private let directory: ScratchDirectory
  private let redis: RedisServerProcess

  init() throws {
    directory = try ScratchDirectory()
    redis = try RedisServerProcess()
  }

  private func check(_ process: String, _ settings: [String]) throws -> Command.Outcome {
    let child = try Command.start(
      ["check", "--for", process, "--timeout", "60s"] + settings.flatMap { ["--set", $0] })
    let text = child.readToEnd()
    return Command.Outcome(code: child.waitForExit(), text: text)
  }

  /// The users of docs/redis.md, as they are typed there.
  private func makeUsers() throws {
    let lines = try Checkout.text("docs/redis.md")
      .split(separator: "\n", omittingEmptySubsequences: false)
    let first = try #require(lines.firstIndex { $0.hasPrefix("redis-cli ACL SETUSER dashboard") })
    let typed = lines[first...].prefix { !$0.isEmpty && $0 != "```" }.joined(separator: "\n")
    _ = try ChildProcess.run([
      "bash", "-c", "redis-cli() { command redis-cli -p \(redis.port) \"$@\"; }; set -e\n\(typed)",
    ])
  }

  private func redisSettings(as user: String) throws -> [String] {
    [
      "redis.port=\(redis.port)", "redis.username=\(user)",
      "redis.password_file=\(try directory.write("change-me", to: "password"))",
    ]
  }

  /// `fanfare api-key` into a file, and nothing else that a worker needs: no credentials for Apple,
  /// no topics but that of events, no templates, a user of Redis of its own.
  @Test func theDocumentedAPIPasses() throws {
    try makeUsers()
    let broker = try EmbeddedBroker(topics: [(name: "notify-followers", partitions: 1)])
    let digest = String(repeating: "0", count: 64)
    let keys = try directory.write("app-backend app-server sha256:\(digest)\n", to: "api-keys")
    let settings =
      try redisSettings(as: "api") + [
        "kafka.bootstrap_servers=\(broker.bootstrapServers)", "api.keys_file=\(keys)",
        "templates.directory=\(directory.file("none"))",
      ]
    let api = try check("api", settings)
    #expect(api.code == 0, "\(api.text)")
    #expect(api.text.contains("1 key in api.keys_file"), "\(api.text)")
    #expect(api.text.contains("our user may do all that the API does"), "\(api.text)")
    #expect(!api.text.contains("apns") && !api.text.contains("segments"), "\(api.text)")
    // What it cannot do without.
    let keyless = try check("api", settings.filter { !$0.hasPrefix("api.keys_file") })
    #expect(keyless.code == 78 && keyless.text.contains("nobody may ask without a key"))
    let open = try check("api", settings + ["api.host=0.0.0.0"])
    #expect(open.code == 78 && open.text.contains("only the loopback interface is served"))
    // The same is no worker's.
    let worker = try check("worker", settings)
    #expect(worker.code == 78, "\(worker.text)")
    #expect(worker.text.contains("sending needs apns.key_file"), "\(worker.text)")
  }

  /// docker/kubernetes/api/fanfare.yaml with the secrets and servers of this test.
  @Test func theManifestOfTheAPIPasses() throws {
    try makeUsers()
    let broker = try EmbeddedBroker(topics: [(name: "notify-followers", partitions: 1)])
    let digest = String(repeating: "0", count: 64)
    let keys = try directory.write("app-backend app-server sha256:\(digest)\n", to: "api-keys")
    let certificate = try Self.certificate(in: directory)
    let templates = try directory.makeDirectory("templates")
    _ = try directory.write("payload: { aps: { alert: hello } }\n", to: "templates/go-live.yaml")
    let password = try directory.write("change-me", to: "password")
    var text = try Checkout.text("docker/kubernetes/api/fanfare.yaml")
    for (shipped, own) in [
      ("kafka.kafka.svc:9092", broker.bootstrapServers), ("redis.redis.svc", "127.0.0.1"),
      ("/run/secrets/fanfare/redis/password", password + "\n  port: \(redis.port)"),
      ("/run/secrets/fanfare/keys/api-keys", keys), ("/etc/fanfare/templates", templates),
      ("/run/secrets/fanfare/tls/tls.crt", certificate.certificate),
      ("/run/secrets/fanfare/tls/tls.key", certificate.key),
    ] {
      try #require(text.contains(shipped), "\(shipped)")
      text = text.replacing(shipped, with: own)
    }
    let file = try directory.write(text, to: "fanfare.yaml")
    let said = try Command.run("check", "--for", "api", "--config", file, "--timeout", "60s")
    #expect(said.code == 0, "\(said.text)")
    #expect(said.text.contains("events name one of go-live"), "\(said.text)")
  }

  private static func certificate(
    in directory: ScratchDirectory
  ) throws -> (certificate: String, key: String) {
    let (certificate, key) = (directory.file("tls.crt"), directory.file("tls.key"))
    _ = try ChildProcess.run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
      "-nodes", "-days", "365", "-subj", "/CN=fanfare-api", "-keyout", key, "-out", certificate,
    ])
    chmod(key, 0o600)
    return (certificate, key)
  }

  @Test func theVerbsAreAskedForNothingElse() throws {
    try makeUsers()
    let broker = try EmbeddedBroker(topics: [(name: "notify-followers", partitions: 1)])
    let devices = try check("devices", redisSettings(as: "audience"))
    #expect(devices.code == 0, "\(devices.text)")
    #expect(devices.text.contains("all that the verbs of devices and followers do"))
    #expect(!devices.text.contains("kafka"), "\(devices.text)")
    let fanOut = try check("fanout", redisSettings(as: "operator"))
    #expect(fanOut.code == 0, "\(fanOut.text)")
    #expect(fanOut.text.contains("takes writes"), "\(fanOut.text)")
    #expect(try redis.cli("EXISTS", "ff:{check}") == "0")
    let emit = try check(
      "emit", ["kafka.bootstrap_servers=\(broker.bootstrapServers)", "redis.port=1"])
    #expect(emit.code == 0 && !emit.text.contains("redis"), "\(emit.text)")
    try redis.cli("ACL", "SETUSER", "operator", "-hdel")
    let less = try check("fanout", redisSettings(as: "operator"))
    #expect(less.code == 78 && less.text.contains("our user may not: HDEL"), "\(less.text)")
  }

  @Test func aRedisThatKeepsNothingIsWarnedOf() throws {
    let words = "has no append-only file"
    let kept = try RedisServerProcess(options: ["--appendonly", "yes"])
    let forgetful = try check("devices", ["redis.port=\(redis.port)"])
    #expect(forgetful.code == 0 && forgetful.text.contains(words), "\(forgetful.text)")
    #expect(forgetful.text.contains("CONFIG SET appendonly yes"), "\(forgetful.text)")
    let good = try check("devices", ["redis.port=\(kept.port)"])
    #expect(good.code == 0 && !good.text.contains(words), "\(good.text)")
    let denied = try Command.run(
      "check", "--for", "devices", "--deny-warnings", "--set", "redis.port=\(redis.port)")
    #expect(denied.code == 69, "\(denied.text)")
  }
}
