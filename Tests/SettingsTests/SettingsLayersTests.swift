import Glibc
import Settings
import Testing

@Suite struct SettingsLayersTests {
  @Test func laterLayersWin() throws {
    var fixture = try SettingsFixture("redis: {host: file, port: 1, database: 1}\n")
    fixture.environment = ["FANFARE_REDIS_PORT": "2", "FANFARE_REDIS_DATABASE": "2", "PATH": "x"]
    fixture.overrides = [("redis.database", "3"), ("log.level", "debug")]
    let settings = try fixture.settings()
    #expect(settings.redis.host == "file")
    #expect(settings.redis.port == 2)
    #expect(settings.redis.database == 3)
    #expect(settings.log.level == .debug)
  }

  @Test func saysWhereEachValueCameFrom() throws {
    var fixture = try SettingsFixture("redis: {host: file}\n")
    fixture.environment = ["FANFARE_REDIS_PORT": "2"]
    fixture.overrides = [("redis.database", "3")]
    let sources = fixture.sources()
    #expect(sources["redis.host"] == "fanfare.yaml:1:15")
    #expect(sources["redis.port"] == "environment FANFARE_REDIS_PORT")
    #expect(sources["redis.database"] == "--set redis.database")
    #expect(sources["redis.username"] == "default")
  }

  @Test func noDescriptionShowsASecret() throws {
    let settings = try SettingsFixture("redis: {password: hunter2}\n").settings()
    #expect(settings.redis.password?.exposed == "hunter2")
    var dumped = ""
    dump(settings, to: &dumped)
    for text in ["\(settings)", String(reflecting: settings), dumped, "\(Secret("hunter2"))"] {
      #expect(!text.contains("hunter2"))
    }
    let wrong = try SettingsFixture("redis: {password: \"hunter2\\n\", password_file: [hunter2]}\n")
    #expect(wrong.load().problems.count == 2)
    #expect(!wrong.findings().joined().contains("hunter2"))
  }

  @Test func readsListsAndMappingsFromTexts() throws {
    var fixture = try SettingsFixture("kafka: {properties: {socket.timeout.ms: 5}}\n")
    fixture.environment = ["FANFARE_KAFKA_BOOTSTRAP_SERVERS": "a:1, b:2"]
    fixture.overrides = [("kafka.properties.debug", "cgrp,broker")]
    var settings = try fixture.settings()
    #expect(settings.kafka.bootstrapServers == ["a:1", "b:2"])
    #expect(settings.kafka.properties == ["socket.timeout.ms": "5", "debug": "cgrp,broker"])
    fixture.overrides = []
    fixture.environment = ["FANFARE_KAFKA_PROPERTIES": "linger.ms=5, batch.size=9"]
    settings = try fixture.settings()
    #expect(settings.kafka.properties == ["linger.ms": "5", "batch.size": "9"])
  }

  @Test func judgesTextsOfEveryLayer() throws {
    var fixture = try SettingsFixture("redis: {port: 0}\n")
    fixture.environment = [
      "FANFARE_REDIS_PORT": "x", "FANFARE_REDIS_PROT": "1", "FANFARE_QWERTY": "1",
      "FANFARE_LOG_LEVEL": "", "FANFARE_CONFIG": "fanfare.yaml",
    ]
    fixture.overrides = [("redis.port", "65536"), ("redis.prot", "1"), ("kafka", "1")]
    #expect(
      fixture.findings() == [
        "fanfare.yaml:1:15: redis.port: must be at least 1, is `0`",
        "environment FANFARE_QWERTY: warning: unknown variable",
        "environment FANFARE_REDIS_PORT: redis.port: must be an integer, 1…65535, is `x`",
        "environment FANFARE_REDIS_PROT: warning: unknown variable "
          + "(did you mean FANFARE_REDIS_PORT?)",
        "--set redis.port: must be at most 65535, is `65536`",
        "--set redis.prot: unknown key (did you mean redis.port?)", "--set kafka: unknown key",
      ])
  }

  /// What Kubernetes sets in every container when Services are named `fanfare` and `fanfare-redis`.
  @Test func passesOverWhatKubernetesSets() throws {
    var fixture = try SettingsFixture("")
    fixture.environment = [
      "FANFARE_REDIS_PORT": "tcp://10.0.0.1:6379", "FANFARE_REDIS_SERVICE_HOST": "10.0.0.1",
      "FANFARE_REDIS_SERVICE_PORT": "6379", "FANFARE_REDIS_SERVICE_PORT_RESP": "6379",
      "FANFARE_REDIS_PORT_6379_TCP": "tcp://10.0.0.1:6379",
      "FANFARE_REDIS_PORT_6379_TCP_ADDR": "10.0.0.1", "FANFARE_PORT": "tcp://10.0.0.2:80",
      "FANFARE_PORT_80_TCP_PROTO": "tcp",
    ]
    #expect(fixture.findings() == [])
    #expect(try fixture.settings().redis.port == 6_379)
  }

  @Test func anEmptyTextUnsetsAnOptionalKey() throws {
    var fixture = try SettingsFixture("redis: {username: u, password: p}\napns: {ca_file: ''}\n")
    #expect(try fixture.settings().apns.caFile == nil)
    #expect(try fixture.settings().redis.username == "u")
    fixture.overrides = [("redis.username", "")]
    #expect(try fixture.settings().redis.username == nil)
  }

  @Test func readsSecretsFromFiles() throws {
    var fixture = try SettingsFixture("redis: {password_file: secret}\n")
    #expect(fixture.findings().count == 1, "there is no file yet")
    for (content, secret) in [("s3\n", "s3"), ("s3\r\n", "s3"), ("s3", "s3"), (" s 3 ", " s 3 ")] {
      chmod(try fixture.directory.write(content, to: "secret"), 0o440)
      #expect(try fixture.settings().redis.password == Secret(secret))
    }
    fixture.environment = ["FANFARE_REDIS_PASSWORD": "later"]
    #expect(try fixture.settings().redis.password == Secret("later"))
    fixture.environment = ["FANFARE_REDIS_PASSWORD_FILE": fixture.directory.file("none")]
    #expect(fixture.load().problems.first?.place == "environment FANFARE_REDIS_PASSWORD_FILE")
  }

  @Test(arguments: [
    ("", "must not be empty"), ("\n", "must not be empty"), ("a\nb\n", "holds a control character"),
    (String(repeating: "x", count: 5_000), "is 5000 bytes long, at most 4096 are read"),
  ])
  func refusesBadSecretFiles(_ content: String, _ message: String) throws {
    let fixture = try SettingsFixture("redis: {password_file: secret}\n")
    chmod(try fixture.directory.write(content, to: "secret"), 0o440)
    let problems = fixture.load().problems
    #expect(problems.count == 1 && problems[0].message.contains(message), "\(problems)")
  }

  /// Nor is it said that the password is missing.
  @Test(arguments: [
    "redis: {username: u, password_file: none}\n",
    "kafka: {security: {protocol: sasl_ssl, mechanism: PLAIN, username: u, password_file: none}}\n",
  ])
  func aSecretFileThatIsNotThereIsOneMistake(_ yaml: String) throws {
    let problems = try SettingsFixture(yaml).load().problems
    #expect(problems.count == 1, "\(problems)")
    #expect(problems[0].message.contains("cannot be opened"))
  }

  @Test func refusesASecretAndItsFileInOneLayer() throws {
    try expectFindings(
      "redis: {password: a, password_file: b}\n",
      ["fanfare.yaml:1:37: redis.password_file: redis.password is set too (keep one of them)"])
  }

  @Test func warnsOfSecretsOnTheCommandLine() throws {
    var fixture = try SettingsFixture("")
    fixture.overrides = [
      ("redis.password", "x"), ("kafka.security.password", "y"),
      ("kafka.properties.ssl.key.password", "z"), ("redis.port", "6380"),
    ]
    #expect(
      fixture.findings().filter { $0.contains("command line") } == [
        "--set redis.password: warning: every user of this machine sees a command "
          + "line (ps) (keep it in a file: redis.password_file)",
        "--set kafka.security.password: warning: every user of this "
          + "machine sees a command line (ps) (keep it in a file: kafka.security.password_file)",
        "--set kafka.properties.ssl.key.password: warning: kafka.properties: every user of this "
          + "machine sees a command line (ps) (keep it in a file: the configuration)",
      ])
  }

  @Test(arguments: [
    (0o644, "redis: {password: x}", 1), (0o660, "redis: {password: x}", 1),
    (0o640, "redis: {password: x}", 0), (0o440, "redis: {password: x}", 0),
    (0o644, "redis: {port: 6380}", 0), (0o644, "redis: {password: ''}", 0),
    (0o644, "kafka: {properties: {ssl.key.password: x}}", 1),
  ])
  func warnsOfAPasswordInAFileThatOthersRead(mode: UInt32, yaml: String, count: Int) throws {
    let fixture = try SettingsFixture(yaml)
    chmod(fixture.file, mode)
    let warnings = fixture.load().warnings
    #expect(warnings.count == count, "\(warnings)")
    #expect(warnings.allSatisfy { $0.hint?.contains("chmod 0440") == true })
  }

  @Test func aFileOfUnknownKeysIsReadInShort() throws {
    let yaml = (0..<40_000).map { "some_key_\($0): x\n" }.joined()
    let warnings = try SettingsFixture(yaml).load().warnings
    #expect(warnings.count == 101)
    #expect(warnings.last?.message == "39900 more unknown keys")
    // Each hint is a comparison with every key there is.
    var hints = 0
    let near = (0..<200).map { "kafka.grou\($0 % 10): x\n" }
    let distinct = near.enumerated().map { "k\($0.offset)afka: x\n" }.joined()
    for warning in try SettingsFixture(distinct).load().warnings where warning.hint != nil {
      hints += 1
    }
    #expect(hints <= 20)
  }
}
